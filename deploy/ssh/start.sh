#!/bin/sh
# A cluster of machines that are reached by SSH without a password and share a folder.
#
#   deploy/ssh/start.sh FOLDER HOST...
#
# The scheduler runs on the first host, a worker per core on each (MLFS_WORKERS says how many per
# host, MLFS_MEMORY what each may use, for example 2GiB). All processes are started again if they
# end, until deploy/ssh/stop.sh FOLDER. Clients: mlfs run JOB --scheduler-file FOLDER/scheduler.json
# with the certificates in FOLDER/tls, or the profile `ssh`.
#
#   MLFS_VENV    environment that mlfs is installed in on every host, if it is not on PATH
#   MLFS_SSH     the ssh command, with options if there are any (default: ssh)
set -eu

if [ "$#" -lt 2 ]; then
  echo "usage: $0 FOLDER HOST..." >&2
  exit 2
fi
mkdir -p "$1"
chmod 700 "$1"
folder=$(cd "$1" && pwd)
shift
PATH="${MLFS_VENV:+$MLFS_VENV/bin:}$PATH"
here=$(cd "$(dirname "$0")" && pwd)

for host in "$@"; do
  case $host in
  -* | *[!A-Za-z0-9.@_:-]*)
    echo "$0: $host is no host" >&2
    exit 2
    ;;
  esac
done
if [ -e "$folder/hosts" ]; then
  echo "$0: a cluster was started in $folder already; end it with deploy/ssh/stop.sh" >&2
  exit 2
fi

test -e "$folder/tls/key.pem" || mlfs cluster certificates "$folder/tls"
rm -rf "$folder/scheduler.json" "$folder/pids"
mkdir -p "$folder/pids" "$folder/logs"
cp "$here/node.sh" "$folder/node.sh"
printf '%s\n' "$@" >"$folder/hosts"

# start HOST ROLE: the words reach the other shell quoted; node.sh detaches itself.
start() {
  # shellcheck disable=SC2086 # MLFS_SSH may hold options
  ${MLFS_SSH:-ssh} -n -o BatchMode=yes "$1" \
    "MLFS_VENV='${MLFS_VENV:-}' MLFS_WORKERS='${MLFS_WORKERS:-}' MLFS_MEMORY='${MLFS_MEMORY:-}' \
     sh '$folder/node.sh' '$folder' '$2' '${1#*@}'"
}

start "$1" scheduler
tries=0
until [ -s "$folder/scheduler.json" ]; do
  tries=$((tries + 1))
  if [ "$tries" -gt 60 ]; then
    echo "$0: the scheduler on $1 did not start within 60 s, see $folder/logs" >&2
    exit 1
  fi
  sleep 1
done
for host in "$@"; do
  start "$host" worker
done
echo "scheduler on $1, workers on $*: $folder/scheduler.json"
