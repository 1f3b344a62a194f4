#!/usr/bin/env bash
# Sets up and passes the tests: system packages, a virtual environment, the test models, all checks, pytest.
#
#   bash packaging/test.sh [arguments of pytest]
#
# Works without GPU, screen and sound card: the tests start their own. Without network it works once everything is cached.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/debian.sh
need_packages $APP_PACKAGES $RIG_PACKAGES
make_venv .venv "[dev]"
.venv/bin/python main.py models fetch test
bash packaging/check.sh
exec .venv/bin/python -m pytest "$@"
