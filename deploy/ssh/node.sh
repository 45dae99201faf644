#!/bin/sh
# Keeps a scheduler or workers alive on one host; start.sh copies it to the shared folder and calls
# it there by SSH:  sh node.sh FOLDER scheduler|worker NAME
set -eu

folder=$1
role=$2
name=$3
PATH="${MLFS_VENV:+$MLFS_VENV/bin:}$PATH"
tls="$folder/tls"

config=$(python -c 'from mlfs_dask.resources import declaration as d; print(d("deploy/dask.yaml"))')
export DASK_CONFIG="$config"
comm=DASK_DISTRIBUTED__COMM
export "${comm}__REQUIRE_ENCRYPTION=True" "${comm}__TLS__CA_FILE=$tls/ca.pem"
for member in SCHEDULER WORKER CLIENT; do
  export "${comm}__TLS__${member}__CERT=$tls/cert.pem" "${comm}__TLS__${member}__KEY=$tls/key.pem"
done
export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1

workers="${MLFS_WORKERS:-$(getconf _NPROCESSORS_ONLN)}"
memory="${MLFS_MEMORY:-auto}"
if [ "$role" = scheduler ]; then
  export MLFS_RUNS="${MLFS_RUNS:-$folder/runs}" # what its pages show
  set -- dask scheduler --protocol tls --host "$name" --port 0 \
    --scheduler-file "$folder/scheduler.json" --dashboard-address 127.0.0.1:0 \
    --preload mlfs_dask.dashboard.preload
else
  set -- dask worker --protocol tls --host "$name" --scheduler-file "$folder/scheduler.json" \
    --nworkers "$workers" --nthreads 1 --memory-limit "$memory" --resources COORD=1 \
    --local-directory "${TMPDIR:-/tmp}" --death-timeout 60 \
    --no-dashboard --dashboard-address 127.0.0.1:0 --preload mlfs_dask.jobs.paused
fi

# A worker that was cut off ends, its nanny too, and nobody else would start it again. The loop is
# the leader of a session of its own, so that stop.sh ends it with all its children.
# shellcheck disable=SC2016 # expanded by the inner shell
setsid sh -c 'echo $$ >"$0"; while :; do "$@" || true; sleep 5; done' \
  "$folder/pids/$name.$role" "$@" >>"$folder/logs/$name.$role.log" 2>&1 </dev/null &
