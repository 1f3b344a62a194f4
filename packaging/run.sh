#!/usr/bin/env bash
# Sets up and opens Idol: system libraries, a virtual environment, the models. Interrupted, it goes on next time; set
# up, it uses no network.
#
#   bash packaging/run.sh [--small] [--no-models] [arguments of main.py]
#
# --small      fetch the smallest language model (0.2 GB in all instead of 1.7 GB)
# --no-models  fetch nothing
#
# IDOL_MODELS names another folder for the models, IDOL_VENV one for the virtual environment, IDOL_PYTHON a Python.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/debian.sh
models=default
while [ $# -gt 0 ]; do
  case "$1" in
    --small) models=small; shift ;;
    --no-models) models=""; shift ;;
    -h|--help) sed -n '2,10{s/^# \{0,1\}//;p}' "$0"; echo "main.py's own options: once set up, .venv/bin/python main.py --help"; exit ;;
    doctor) models=""; break ;;
    --) shift; break ;;
    *) break ;;
  esac
done
venv=${IDOL_VENV:-.venv}
# shellcheck disable=SC2086
need_packages $APP_PACKAGES
make_venv "$venv"
if [ -n "$models" ]; then
  "$venv/bin/python" main.py models fetch "$models"
fi
exec "$venv/bin/python" main.py "$@"
