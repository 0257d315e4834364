#!/usr/bin/env bash
# From a fresh Debian 12 machine to a result: installs what is missing, builds einsumc, and runs
# the example examples/tucker-image on 4 ranks. Safe to run again, and quick the second time.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tools/setup.sh
source "$root/tools/setup.sh"
cd "$root"

# Announces and runs a step; its output goes to a log that is shown when it fails.
step() {
  local title=$1 log start=$SECONDS
  shift
  log="build/quickstart/$(tr -c 'a-z0-9\n' - <<<"${title,,}").log"
  printf '%s ... ' "$title"
  if "$@" >"$log" 2>&1; then
    printf 'done (%d s)\n' $((SECONDS - start))
  else
    printf 'failed\n' >&2
    tail -n 40 "$log" >&2
    fail "'$title' failed; all of its output is in $root/$log"
  fi
}

mkdir -p build/quickstart
echo "1. Packages"
set_up build
echo "2. einsumc"
step "Configuring" cmake --preset release -DEINSUMC_BUILD_TESTS=OFF
step "Building" cmake --build --preset release --target einsumc
echo "3. The example"
examples/tucker-image/run.sh "$root/build/release" ||
  fail "the example failed; run it alone with
  examples/tucker-image/run.sh $root/build/release"
