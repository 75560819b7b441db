#!/usr/bin/env bash
# Makes .venv and installs Stackroom into it. Called by make; does nothing that is not needed.
#
#   tools/install.sh runtime    what `stackroom` needs to run
#   tools/install.sh dev        the same plus what the tests and the sample library's generator need
#
# PYTHON names the interpreter (default: the first that works of 3.11, 3.12, 3.13); VENV the environment (default:
# .venv); PIP_ARGS is passed to pip, for example the options that choose a CPU build of PyTorch.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-runtime}
venv=${VENV:-.venv}

usable() { # the interpreter exists, starts (a shim may not), and is of a version Stackroom supports
  "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1
}

find_python() {
  # 3.11 and 3.12 come first: the table model has no wheel for 3.13, where tables are read as text.
  local candidate
  for candidate in ${PYTHON:-python3.11 python3.12 python3.13 python3 python}; do
    if usable "$candidate"; then
      command -v "$candidate"
      return
    fi
  done
  echo "Stackroom needs Python 3.11, 3.12 or 3.13, and ${PYTHON:-none was found}${PYTHON:+ is none of them}." >&2
  echo "Install one (for example: apt install python3 python3-venv, or brew install python@3.12)" >&2
  echo "or name it: make install PYTHON=/path/to/python3.12" >&2
  exit 1
}

make_venv() {
  if [ -e "$venv" ] && usable "$venv/bin/python" && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    return
  fi
  local python
  python=$(find_python)
  echo "Making $venv with $("$python" --version) ($python)"
  if ! "$python" -m venv --clear "$venv"; then
    echo "$python cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2
    exit 1
  fi
}

install_packages() {
  local target=.
  [ "$what" = dev ] && target='.[dev]'
  echo "Installing Stackroom ($what). The first time this takes some minutes; later calls install nothing."
  # shellcheck disable=SC2086  # PIP_ARGS is a list of arguments
  "$venv/bin/python" -m pip install --disable-pip-version-check --quiet --constraint constraints.txt \
    ${PIP_ARGS:-} --editable "$target"
}

check_opencv() {
  # The layout and OCR packages ask for opencv-python, which needs libGL; a server often has none. The headless build
  # of the same version holds the same module and needs nothing.
  if "$venv/bin/python" -c 'import cv2' >/dev/null 2>&1; then
    return
  fi
  echo "No libGL on this machine: using the headless build of OpenCV"
  # shellcheck disable=SC2086
  "$venv/bin/python" -m pip install --disable-pip-version-check --quiet --constraint constraints.txt \
    ${PIP_ARGS:-} --force-reinstall --no-deps opencv-python-headless
  "$venv/bin/python" -c 'import cv2'
}

case $what in
  runtime | dev) ;;
  *)
    echo "usage: tools/install.sh runtime|dev" >&2
    exit 1
    ;;
esac
make_venv
install_packages
check_opencv
# The stamps make reads. What the tests need includes what running needs.
touch "$venv/.installed-runtime"
[ "$what" = runtime ] || touch "$venv/.installed-dev"
