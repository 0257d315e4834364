#!/usr/bin/env bash
# check.sh [--quick | --all]
#
# Installs what is missing, builds einsumc and runs every test with MPICH, and the execution tests
# with Open MPI; one line a stage, and at the end `N passed, N failed`. With --quick only the
# release build, its tests on a few ranks; with --all also the sanitizers, the debug build, the
# build without LIBXSMM and the fuzzers. The logs are in build/check. Safe to run again, and quick
# to build the second time.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tools/setup.sh
source "$root/tools/setup.sh"
cd "$root"

case "${1:-}" in
  "") scope=default ;;
  --quick) scope=quick ;;
  --all) scope=all ;;
  *) fail "unknown argument '$1'; usage: check.sh [--quick | --all]" ;;
esac

logs=$root/build/check
jobs=$(nproc)
passed=0
failed=0

# stage NAME COMMAND...: runs a command with its output in a log and says how it went. Its tests
# count as passed or failed; a failure without a failed test (a build that broke) counts as one.
stage() {
  local name=$1 log start=$SECONDS status=0 good bad
  shift
  log=$logs/${name//[^a-z0-9]/-}.log
  "$@" >"$log" 2>&1 </dev/null || status=$?
  read -r good bad < <(count_tests "$log")
  [[ $status -eq 0 || $bad -gt 0 ]] || bad=1
  passed=$((passed + good))
  failed=$((failed + bad))
  printf '%-28s %5d s  %5d passed, %d failed\n' "$name" $((SECONDS - start)) "$good" "$bad"
  if [[ $bad -gt 0 ]]; then
    echo "--- the end of $log:"
    tail -n 100 "$log"
    echo "---"
    return 1
  fi
}

# Prints the numbers of passed and failed tests that the summaries of CTest and lit in a log give.
count_tests() {
  awk '
    / tests passed, [0-9]+ tests failed out of / {
      for (i = 1; i < NF; i++) {
        if ($i == "passed,") ctest_failed = $(i + 1)
        if ($i == "of") total = $(i + 1)
      }
      good += total - ctest_failed
      bad += ctest_failed
    }
    /^ *(Passed|Expectedly Failed) *: +[0-9]+/ { good += number() }
    /^ *(Failed|Timed Out|Unresolved|Unexpectedly Passed) *: +[0-9]+/ { bad += number() }
    function number() {
      match($0, /: +[0-9]+/)
      return substr($0, RSTART + 1, RLENGTH - 1) + 0
    }
    END { print good + 0, bad + 0 }
  ' "$1"
}

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  cmake --preset "$preset" && cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"}
}

unit_tests() {
  ctest --preset "$1" -j "$jobs" -E '^lit$'
}

# lit_tests PRESET RANKS [DIRECTORY...]: of the whole suite or some of its directories, on these
# numbers of ranks (all: as the cases say).
lit_tests() {
  local preset=$1 ranks=$2 python lit
  shift 2
  python=$(cached "$preset" EINSUMC_PYTHON)
  lit=$(cached "$preset" EINSUMC_LIT)
  [[ $ranks == all ]] || export EINSUMC_TEST_RANKS=$ranks
  if [[ $# -eq 0 ]]; then
    set -- .
  fi
  "$python" "$lit" -sv -j "$jobs" "${@/#/build/$preset/test/}"
}

# The value of a variable in a preset's CMake cache.
cached() {
  sed -n "s/^$2:[A-Z]*=//p" "build/$1/CMakeCache.txt"
}

# tests PRESET RANKS [DIRECTORY...]: builds a preset and runs its unit and lit tests.
tests() {
  local preset=$1
  stage "$preset: build" build "$preset" || return 0
  stage "$preset: unit tests" unit_tests "$preset" || true
  stage "$preset: lit" lit_tests "$@" || true
}

rm -rf "$logs"
mkdir -p "$logs"
set_up test
export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$root

if [[ $scope == quick ]]; then
  tests release 1,4
else
  tests release all
  if stage "openmpi: build" build openmpi; then
    stage "openmpi: lit" lit_tests openmpi 1,4 run || true
  fi
fi
if [[ $scope == all ]]; then
  stage "openmpi: unit tests" unit_tests openmpi || true
  stage "openmpi: tools" lit_tests openmpi 4 tools || true
  tests asan 3
  if stage "tsan: build" build tsan; then
    stage "tsan: unit tests" ctest --preset tsan -R 'Stepping|Communicator|Exchange' || true
    stage "tsan: lit" lit_tests tsan 3,4,6 run/cases/stepping-loops.ein run/cases/ring-slots.ein \
      run/cases/sweep-matrix.ein || true
  fi
  tests debug 2 frontend order plan lower codegen run
  tests no-libxsmm 4 run
  if stage "fuzzer: build" build fuzzer fuzzers; then
    stage "fuzzer: runs" ctest --preset fuzzer -j "$jobs" || true
  fi
fi

echo
echo "$passed passed, $failed failed"
[[ $failed -eq 0 && $passed -gt 0 ]]
