#!/usr/bin/env bash
# Runs one example: makes its inputs, compiles its tree, evaluates it on several ranks with
# --verify, and checks the result.
#   examples/run.sh NAME [BUILD_DIR] [RANKS]      e.g. examples/run.sh ising-2d build/release 4
set -euo pipefail

examples=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=${1:?usage: examples/run.sh NAME [BUILD_DIR] [RANKS]}
build=$(cd "${2:-$examples/../build/release}" && pwd)
ranks=${3:-4}
source=$examples/$name
out=${EINSUMC_EXAMPLES_OUT:-$build/examples}/$name
[[ -f $source/tree.ein ]] || { echo "run.sh: there is no example '$name'" >&2; exit 2; }

# A Python that has NumPy: Debian's, where the first one on PATH has not.
for python in "${PYTHON:-python3}" /usr/bin/python3; do
  if "$python" -c 'import numpy' 2>/dev/null; then break; fi
done

mkdir -p "$out"
cd "$out"
echo "== Inputs"
"$python" "$source/make_inputs.py"
arguments=()
for file in in_*.npy; do
  [[ -e $file ]] || continue
  tensor=${file#in_}
  arguments+=(--input "${tensor%.npy}=$file")
done
while read -r tensor; do
  arguments+=(--output "$tensor=out_$tensor.npy")
done < <(sed -n 's/^output \([A-Za-z_0-9]*\)\[.*/\1/p' "$source/tree.ein")

echo "== The plan for $ranks ranks"
"$build/bin/einsumc" "$source/tree.ein" --ranks="$ranks" --emit=plan -o -
echo "== Compiling and running"
"$build/bin/einsumc" "$source/tree.ein" --ranks="$ranks" --run -- \
  "${arguments[@]}" --verify --stats stats.json
echo "== Checking"
"$python" "$source/check.py"
echo "The results lie in $out"
