#!/usr/bin/env bash
# Deletes the state folder: stores, artefacts, caches, Dagster's history, and the list of folders added with SOURCE=.
# The documents themselves lie elsewhere and are never touched.
set -euo pipefail
state=${STACKROOM_STATE:?names the state folder; run this through make clean-state}
if [ ! -e "$state" ]; then
  echo "There is no state folder at $state; nothing to delete."
  exit 0
fi
state=$(cd "$state" && pwd -P)
# STACKROOM_STATE may name anything; delete only what Stackroom or Dagster has visibly written.
if [ ! -e "$state/ledger.sqlite" ] && [ ! -e "$state/history" ]; then
  echo "$state does not look like a state folder (it holds neither ledger.sqlite nor history/); not deleted." >&2
  exit 1
fi
for kept in stackroom.yaml pyproject.toml .git; do
  if [ -e "$state/$kept" ]; then
    echo "$state holds $kept, so it is more than a state folder; not deleted." >&2
    exit 1
  fi
done
rm -rf -- "$state"
echo "Deleted $state"
