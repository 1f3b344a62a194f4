# Debian packages the program and its tests need, and how they and the virtual environment are made; sourced by run.sh
# and test.sh. Every step checks what is there, so that an interrupted set-up goes on next time.
APP_PACKAGES="libegl1 libgl1 libgl1-mesa-dri libglib2.0-0 libdbus-1-3 libfontconfig1 libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 libportaudio2 libasound2-plugins fonts-noto-cjk"
RIG_PACKAGES="xvfb openbox x11-utils xdotool pulseaudio pulseaudio-utils ffmpeg sox chromium-headless-shell"

# need_packages NAME...: install what is missing; root does it, sudo is asked, else the line to run is printed.
need_packages() {
  command -v dpkg-query >/dev/null 2>&1 || {
    echo "This is no Debian system: install what corresponds to: $*" >&2
    return 0
  }
  local installed missing=() package
  # Newer releases rename a library that changed its time_t: libglib2.0-0t64 provides libglib2.0-0.
  installed=" $(dpkg-query -W -f '${db:Status-Status} ${Package} ${Provides}\n' 2>/dev/null |
    sed -n 's/^installed //p' | sed 's/([^)]*)//g; s/,/ /g' | tr '\n' ' ') "
  for package in "$@"; do
    case "$installed" in *" $package "*) ;; *) missing+=("$package") ;; esac
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local line="apt-get install -y --no-install-recommends ${missing[*]}"
  if [ "$(id -u)" -eq 0 ]; then
    echo "Installing ${#missing[@]} system packages: ${missing[*]}"
    as_root
  elif command -v sudo >/dev/null 2>&1 && [ -t 0 ]; then
    echo "These system packages are missing: ${missing[*]}"
    local answer=""
    read -r -p "Install them with sudo? [Y/n] " answer || answer=n
    case "$answer" in
      [nN]*) echo "Run this, then start again:  sudo $line" >&2; return 1 ;;
      *) as_root sudo ;;
    esac
  else
    echo "System packages are missing. Run this as root, then start again:" >&2
    echo "  apt-get update && $line" >&2
    return 1
  fi
}

# as_root [sudo]: install ${missing[@]}; first end what an interrupted installation left half done.
as_root() {
  $* dpkg --configure -a &&
    $* apt-get update -q &&
    $* env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" || {
    echo "The system packages could not be installed. Check the network, then start again." >&2
    return 1
  }
}

# find_python: a CPython 3.11 to 3.13, in PYTHON.
find_python() {
  for PYTHON in "${IDOL_PYTHON:-}" python3.11 python3.12 python3.13 python3; do
    [ -n "$PYTHON" ] && command -v "$PYTHON" >/dev/null 2>&1 || continue
    "$PYTHON" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && return 0
  done
  echo "Python 3.11 to 3.13 is needed. On Debian 12: apt-get install python3" >&2
  return 1
}

# make_venv FOLDER [EXTRA]: a virtual environment with the project and an optional extra. Nothing is done, and no
# network used, while pyproject.toml is the one it was made for; one that has the extra also serves without it.
make_venv() {
  local folder=$1 extra=${2:-} hash made_for="" made_with=""
  hash=$(sha256sum pyproject.toml | cut -c1-16)
  [ -f "$folder/.idol-stamp" ] && read -r made_for made_with < "$folder/.idol-stamp"
  if [ -x "$folder/bin/python" ] && [ "$made_for" = "$hash" ] && [ "${extra:-$made_with}" = "$made_with" ]; then
    return 0
  fi
  extra=${extra:-$made_with}
  if ! "$folder/bin/python" -m pip --version >/dev/null 2>&1; then # none yet, or one whose making was interrupted
    find_python || return 1
    if ! "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; then
      need_packages "$("$PYTHON" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')" || return 1
    fi
    "$PYTHON" -m venv --clear "$folder" || return 1
  fi
  echo "Installing Python packages into $folder (a few minutes the first time)"
  local quiet=-q
  [ -t 1 ] && quiet=""
  "$folder/bin/python" -m pip install -q --upgrade "pip>=25.2" && # resumes broken downloads
    PYTHONWARNINGS=ignore "$folder/bin/python" -m pip install $quiet --editable ".${extra:+[$extra]}" || {
    echo "The Python packages could not be installed. Check the network, then start again: what is done is kept." >&2
    return 1
  }
  echo "$hash $extra" > "$folder/.idol-stamp"
}
