# Debian packages the program and its tests need; sourced by run.sh and test.sh.
APP_PACKAGES="libegl1 libgl1 libglib2.0-0 libdbus-1-3 libfontconfig1 libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 libportaudio2 libasound2-plugins fonts-noto-cjk"
RIG_PACKAGES="xvfb openbox x11-utils xdotool pulseaudio pulseaudio-utils ffmpeg libgl1-mesa-dri"

# need_packages NAME...: install what is missing; root does it, sudo is asked, else the line to run is printed.
need_packages() {
  command -v dpkg-query >/dev/null 2>&1 || {
    echo "This is no Debian system: install what corresponds to: $*" >&2
    return 0
  }
  local missing=()
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local line="apt-get install -y --no-install-recommends ${missing[*]}"
  if [ "$(id -u)" -eq 0 ]; then
    echo "Installing ${#missing[@]} system packages: ${missing[*]}"
    DEBIAN_FRONTEND=noninteractive apt-get update -q && DEBIAN_FRONTEND=noninteractive $line
  elif command -v sudo >/dev/null 2>&1 && [ -t 0 ]; then
    echo "These system packages are missing: ${missing[*]}"
    read -r -p "Install them with sudo? [Y/n] " answer
    case "$answer" in
      [nN]*) echo "Run this, then start again:  sudo $line" >&2; return 1 ;;
      *) sudo apt-get update -q && sudo env DEBIAN_FRONTEND=noninteractive $line ;;
    esac
  else
    echo "System packages are missing. Run this as root, then start again:" >&2
    echo "  apt-get update && $line" >&2
    return 1
  fi
}

# find_python: a CPython 3.11 or newer, in PYTHON.
find_python() {
  for PYTHON in "${IDOL_PYTHON:-}" python3.11 python3.12 python3.13 python3; do
    [ -n "$PYTHON" ] && command -v "$PYTHON" >/dev/null 2>&1 || continue
    "$PYTHON" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && return 0
  done
  echo "Python 3.11 to 3.13 is needed. On Debian 12: apt-get install python3" >&2
  return 1
}

# make_venv FOLDER EXTRA: a virtual environment with the project's dependencies; skipped while nothing changed.
make_venv() {
  local folder=$1 extra=$2 stamp
  stamp="$(sha256sum pyproject.toml | cut -c1-16) $extra"
  if [ -x "$folder/bin/python" ] && [ "$(cat "$folder/.idol-stamp" 2>/dev/null)" = "$stamp" ]; then
    return 0
  fi
  find_python || return 1
  if ! "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; then
    need_packages python3-venv || return 1
  fi
  [ -x "$folder/bin/python" ] || "$PYTHON" -m venv "$folder" || return 1
  echo "Installing Python packages into $folder (a few minutes the first time)"
  "$folder/bin/python" -m pip install -q --upgrade "pip>=24.1" || return 1
  "$folder/bin/python" -m pip install -q --editable ".$extra" || return 1
  echo "$stamp" > "$folder/.idol-stamp"
}
