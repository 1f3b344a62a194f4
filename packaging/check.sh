#!/usr/bin/env bash
# The one check command: format, lint, types, import contracts. Tests are apart (packaging/test.sh runs both).
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${IDOL_VENV:-.venv}/bin
"$bin/ruff" format --check --quiet . || { echo "Not formatted. Run: $bin/ruff format ." >&2; exit 1; }
"$bin/ruff" check --quiet .
"$bin/mypy"
"$bin/lint-imports" --no-cache
echo "checks passed"
