#!/usr/bin/env bash
# Installs the Debian packages that einsumc needs and that are missing. Sourced by quickstart.sh
# and check.sh, or started by hand: `tools/setup.sh [build|test]` (test, the default: all of them).

# To build einsumc, and to build and run what it emits.
build_packages=(
  g++ cmake ninja-build pkg-config
  llvm-19-dev libclang-19-dev libclang-cpp19-dev clang-19
  mpich libmpich-dev libxsmm-dev libcli11-dev nlohmann-json3-dev
  python3 python3-numpy python3-pil python-matplotlib-data # the examples' arrays and photograph
)
# To run every test: the other MPI, lit and FileCheck, Clang's sanitizers, libFuzzer and OpenMP;
# ccache, because most files are compiled alike in several presets.
test_packages=(
  ccache openmpi-bin libopenmpi-dev libgtest-dev llvm-19-tools libclang-rt-19-dev libomp-19-dev
)

# Prints a message and ends the script.
fail() {
  printf '\n%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Installs those of the given packages that are missing, if any.
install_packages() {
  local missing=() as_root=() package
  command -v dpkg-query >/dev/null ||
    fail "this is no Debian system: install the equivalents of these packages by hand, then
build with cmake --preset release && cmake --build --preset release:
  $*"
  for package in "$@"; do
    dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null |
      grep -qx installed || missing+=("$package")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0

  if [[ $EUID -ne 0 ]]; then
    command -v sudo >/dev/null ||
      fail "these packages are missing, and only root can install them (there is no sudo here):
  apt-get install --no-install-recommends ${missing[*]}"
    as_root=(sudo)
  fi
  echo "Installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq ||
    fail "apt-get update failed: is the network up, and is Debian's mirror reachable?"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    fail "apt-get could not install: ${missing[*]}"
}

# What a script is for: build or test.
set_up() {
  case $1 in
    build) install_packages "${build_packages[@]}" ;;
    test) install_packages "${build_packages[@]}" "${test_packages[@]}" ;;
    *) fail "expected build or test, not '$1'" ;;
  esac
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set -euo pipefail
  set_up "${1:-test}"
fi
