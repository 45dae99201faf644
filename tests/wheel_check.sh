#!/bin/sh
# Builds the wheel, installs it with its locked dependencies in a clean environment outside the
# checkout, and runs the quickstart there from another folder: what a user without a checkout gets.
#
# usage: PYTHON=python3 UV= sh tests/wheel_check.sh DEVELOPERS_PYTHON   (from the checkout's root)
set -eu

builder=$1
away=$(mktemp -d)
trap 'rm -rf "$away"' EXIT
trap 'exit 1' INT TERM

echo "wheel-check: building"
"$builder" -m hatchling build --target wheel --directory "$away/dist" >"$away/build.log" 2>&1 ||
  { cat "$away/build.log" >&2; exit 1; }
wheel=$(echo "$away"/dist/*.whl)

echo "wheel-check: installing $(basename "$wheel") in a clean environment"
clean="$away/venv/bin/python"
if [ -n "${UV:-}" ]; then
  "$UV" venv --quiet --python "${PYTHON:-python3}" "$away/venv"
  "$UV" pip install --quiet --python "$clean" --require-hashes -r requirements/runtime.lock
  "$UV" pip install --quiet --python "$clean" --no-deps "$wheel"
  "$UV" pip check --quiet --python "$clean"
else
  "${PYTHON:-python3}" -m venv "$away/venv"
  pip() { "$clean" -m pip --quiet --disable-pip-version-check "$@"; }
  pip install --no-compile --require-hashes -r requirements/runtime.lock
  pip install --no-compile --no-deps "$wheel"
  pip check
fi

echo "wheel-check: the quickstart from another folder"
mkdir "$away/elsewhere"
cd "$away/elsewhere"
unset MLFS_STORES MLFS_RUNS MLFS_DATA PYTHONPATH
job=$("$clean" -c 'from mlfs_dask.resources import declaration; print(declaration("jobs/quickstart.toml"))')
case $job in
"$away"/venv/*) ;;
*) echo "wheel-check: jobs/quickstart.toml comes from $job, not from the wheel" >&2; exit 1 ;;
esac
mlfs="$away/venv/bin/mlfs"
"$mlfs" data synth quickstart
"$mlfs" run "$job"
test -s runs/quickstart-*/report.html || { echo "wheel-check: the run left no report" >&2; exit 1; }
echo "wheel-check: passed"
