#!/bin/sh
# Ends the cluster that start.sh made, workers first:  deploy/ssh/stop.sh FOLDER
set -eu

if [ "$#" -ne 1 ] || [ ! -s "$1/hosts" ]; then
  echo "usage: $0 FOLDER, where deploy/ssh/start.sh was given the same" >&2
  exit 2
fi
folder=$(cd "$1" && pwd)

# stop HOST ROLE: the whole session of the loop that node.sh started there.
stop() {
  file="$folder/pids/${1#*@}.$2"
  [ -s "$file" ] || return 0
  # shellcheck disable=SC2086 # MLFS_SSH may hold options
  ${MLFS_SSH:-ssh} -n -o BatchMode=yes "$1" "
    group=\$(cat '$file')
    kill -TERM -- -\$group 2>/dev/null || exit 0
    for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
      kill -0 -- -\$group 2>/dev/null || exit 0
      sleep 1
    done
    kill -KILL -- -\$group 2>/dev/null || exit 0"
  rm -f "$file"
}

while read -r host; do
  stop "$host" worker
done <"$folder/hosts"
stop "$(head -n 1 "$folder/hosts")" scheduler
rm -rf "$folder/hosts" "$folder/pids" "$folder/scheduler.json" "$folder/node.sh"
echo "stopped"
