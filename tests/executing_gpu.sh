#!/bin/bash
# Run a command with a GPU whose OpenCL C kernels are executed, with values, by the CPU.
set -eu

gpu=xehp
devices=1
here=$(cd "$(dirname "$0")" && pwd)

usage() {
    cat <<END
usage: tests/executing_gpu.sh [--gpu xehp|none|arc|tgl|pvc|bmg] [--devices 1|2] [--fp64] COMMAND...

Runs COMMAND on a machine that seems to have one Intel GPU beside its CPU. A layer between programs and Intel's OpenCL
CPU driver (tests/gpu_layer) shows the CPU a second time, as a GPU: oneDNN chooses its OpenCL C kernels for GPUs and
they compute. Machine code of GPUs cannot run there, and oneDNN has none for the first two; times mean nothing.
The exit status is COMMAND's, 2 for a wrong option, or 3 without what it needs (gcc, opencl-c-headers, the CPU driver).

  --gpu xehp   Xe-HP, discrete, without matrix units (default)
  --gpu none   a GPU of no known kind, integrated
  --gpu arc    oneDNN chooses as for an Arc; its machine code is taken for what fails when it runs, so that
               implementations named jit must be left out: verify --global-skip-impl=jit, or pd.next_impl()
  --gpu tgl    likewise Tiger Lake
  --gpu pvc    likewise a Data Center GPU Max (Xe-HPC)
  --gpu bmg    likewise Battlemage (Xe2)
  --devices 2  two GPUs of that kind in one context; kernels are then compiled anew by each process
  --fp64       with arithmetic of doubles, which Arc and Tiger Lake lack

PYTHON names the Python whose packages hold the CPU driver, where COMMAND is not itself a python or pytest.
EXECUTING_GPU_CACHE is the folder of compiled kernels (default: sycl_dnn/executing_gpu in the user's cache), which
holds up to EXECUTING_GPU_CACHE_BYTES (2 GiB); tests/gpu_layer/layer.h has the other variables.
Example: tests/executing_gpu.sh .venv/bin/python -m pytest tests/functional
END
}

fail() {
    local status=$1
    shift
    printf 'executing_gpu.sh: %s\n' "$@" >&2
    exit "$status"
}

while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) usage && exit ;;
        --gpu) [ $# -ge 2 ] || fail 2 "--gpu must name a GPU: xehp, none, arc, tgl, pvc or bmg" && gpu=$2 && shift 2 ;;
        --gpu=*) gpu=${1#*=} && shift ;;
        --devices) [ $# -ge 2 ] || fail 2 "--devices must be 1 or 2" && devices=$2 && shift 2 ;;
        --devices=*) devices=${1#*=} && shift ;;
        --fp64) export EXECUTING_GPU_FP64=1 && shift ;;
        --) shift && break ;;
        -*) fail 2 "unknown option $1 (see --help)" ;;
        *) break ;;
    esac
done
[ $# -gt 0 ] || fail 2 "no COMMAND given (see --help)"
case $gpu in
    xehp | none | arc | tgl | pvc | bmg) export EXECUTING_GPU=$gpu ;;
    *) fail 2 "--gpu must be xehp, none, arc, tgl, pvc or bmg, got $gpu" ;;
esac
case $devices in
    1 | 2) export EXECUTING_GPU_DEVICES=$devices ;;
    *) fail 2 "--devices must be 1 or 2, got $devices" ;;
esac

# shellcheck source=tests/cpu_driver.sh
. "$here/cpu_driver.sh"

# Built anew when a source is newer; under another name first, for those who build at the same time.
build() {
    local sources=("$here"/gpu_layer/*.c) library=$1
    if [ -e "$library" ] && [ -z "$(find "$here/gpu_layer" "$0" -newer "$library" -type f -print -quit)" ]; then
        return
    fi
    if ! command -v gcc >/dev/null || [ ! -e /usr/include/CL/cl_layer.h ]; then
        fail 3 "the layer needs a compiler and OpenCL's headers; as root type:" "    apt-get install -y gcc libc6-dev opencl-c-headers"
    fi
    mkdir -p "${library%/*}"
    gcc -std=gnu11 -O2 -g -Wall -Wextra -Werror -fvisibility=hidden -shared -fPIC -DSOURCES="\"$here/gpu_layer\"" \
        -o "$library.$$" "${sources[@]}" -lpthread || fail 3 "the layer could not be built"
    mv "$library.$$" "$library"
}
library=$here/../build/gpu_layer/libexecuting_gpu.so
build "$library"

# An empty one: no cache.
export EXECUTING_GPU_CACHE=${EXECUTING_GPU_CACHE-${XDG_CACHE_HOME:-$HOME/.cache}/sycl_dnn/executing_gpu}
[ -z "$EXECUTING_GPU_CACHE" ] || mkdir -p "$EXECUTING_GPU_CACHE"

# This library would keep what the layer made of its kernels, beyond changes of the layer.
export SYCL_DNN_CACHE_DIR=${SYCL_DNN_CACHE_DIR-}

# The drivers of other GPUs stay out, and none comes through Level Zero.
OPENCL_LAYERS=$(realpath "$library")
export OPENCL_LAYERS OCL_ICD_FILENAMES=$cpu_driver OCL_ICD_VENDORS=/dev/null
export ONEAPI_DEVICE_SELECTOR=${ONEAPI_DEVICE_SELECTOR:-*:cpu;opencl:gpu}
unset NEOReadDebugKeys SetCommandStreamReceiver
exec "$@"
