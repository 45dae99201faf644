#!/bin/sh
# Runs all tests in two processes that meet in the middle, and the check of the wheel beside them:
# most tests keep one core busy, some only wait. What was said in the background comes at the end.
#
# usage: PYTHON=python3 UV= sh tests/run_all.sh DEVELOPERS_PYTHON [ARGUMENT OF PYTEST]...   (from the checkout's root)
set -u

python=$1
shift
away=$(mktemp -d)
mkdir "$away/claims"
export MLFS_TEST_CLAIMS="$away/claims"
trap 'rm -rf "$away"' EXIT
trap 'kill "$wheel"; kill -INT "$backwards"; exit 1' INT TERM

sh tests/wheel_check.sh "$python" >"$away/wheel.log" 2>&1 &
wheel=$!
MLFS_TEST_BACKWARDS=1 "$python" -m pytest -o cache_dir=.pytest_cache/backwards "$@" \
  >"$away/backwards.log" 2>&1 &
backwards=$!

"$python" -m pytest "$@"
failed=$?
wait "$backwards" || failed=$?
cat "$away/backwards.log"
wait "$wheel" || failed=$?
cat "$away/wheel.log"
exit "$failed"
