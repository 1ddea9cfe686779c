#!/bin/bash
# Run by a batch job on each of several hosts: starts the ranks of an example on this host.
# usage: NODES=N NODE_RANK=I MASTER_ADDR=HOST [RANKS=N] [MODULES="a b"] [PYTHON=...] ranks.sh [EXAMPLE [ARGUMENT...]]
set -eu -o pipefail
cd "$(dirname "$0")/../.."

example=${1:-train_digits_distributed.py}
shift $(($# > 0))

# Sites provide compilers and interpreters as modules; without MODULES nothing is loaded.
load_modules() {
    local name
    for name in ${MODULES:-}; do
        module load "$name"
    done
}

load_modules
# By default one rank for each GPU, or one for a host without GPUs.
ranks=${RANKS:-$(find /dev/dri -name 'renderD*' 2>/dev/null | wc -l)}
[ "$ranks" -gt 0 ] || ranks=1
exec "${PYTHON:-.venv/bin/python}" -m sycl_dnn launch -n "$ranks" --nodes "$NODES" \
    --node-rank "$NODE_RANK" --master-addr "$MASTER_ADDR" --master-port "${MASTER_PORT:-29511}" \
    "examples/$example" --distributed "$@"
