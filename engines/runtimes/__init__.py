"""One module per runtime, each with the same class and verbs (load, run, close) behind ``engines.session.Session``."""
