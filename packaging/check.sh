#!/usr/bin/env bash
# The one check command: format, lint, types, import contracts. Tests are apart (packaging/test.sh runs both).
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${IDOL_VENV:-.venv}/bin
"$bin/ruff" format --check --quiet .
"$bin/ruff" check --quiet .
"$bin/mypy"
"$bin/lint-imports" --no-cache > /dev/null || "$bin/lint-imports" --no-cache
echo "checks passed"
