#!/usr/bin/env bash
# Sets up and passes the tests: system packages, a virtual environment, the test models, all checks, pytest.
#
#   bash packaging/test.sh [arguments of pytest]
#
# Works without GPU, screen and sound card: the tests start their own. Once everything is cached it uses no network.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/debian.sh
export IDOL_VENV=${IDOL_VENV:-.venv}
# shellcheck disable=SC2086
need_packages $APP_PACKAGES $RIG_PACKAGES
make_venv "$IDOL_VENV" dev
"$IDOL_VENV/bin/python" main.py models fetch test
bash packaging/check.sh
exec "$IDOL_VENV/bin/python" -m pytest "$@"
