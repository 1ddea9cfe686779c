#!/bin/bash
# Run a command with a simulated Intel GPU: Debian's driver compiles and accepts work for it, and executes nothing.
set -eu

gpu=arc
backend=opencl
adapter=v1
here=$(cd "$(dirname "$0")" && pwd)

usage() {
    cat <<EOF
usage: tests/simulated_gpu.sh [--gpu arc|dg1|tgl] [--backend opencl|level_zero] [--adapter v1|v2] COMMAND...

Runs COMMAND on a machine that seems to have one Intel GPU (and its CPU device). Kernels are compiled and submitted
but not executed: everything can be tested there except values. The exit status is COMMAND's, or 3 without what it needs.

  --gpu arc   Arc A770, Xe-HPG, discrete, matrix units (default)
  --gpu dg1   Iris Xe MAX, Xe-LP, discrete
  --gpu tgl   Tiger Lake, Xe-LP, integrated

  --backend level_zero   through Level Zero, which SYCL prefers on users' machines, instead of OpenCL (default)
  --adapter v1|v2        SYCL's older (default) or newer adapter of Level Zero

Level Zero needs gcc, and its loader, which is fetched once with apt (not installed) into SIMULATED_LEVEL_ZERO
(default: sycl_dnn/simulated_level_zero in the user's cache). SIMULATED_GPU_CACHE is the folder of compiled kernels
(default: sycl_dnn/simulated_gpu there; empty: none). PYTHON names the Python whose packages hold the CPU driver,
where COMMAND is not itself a python or pytest.
Example: tests/simulated_gpu.sh --gpu dg1 .venv/bin/python -m pytest tests/gpu
EOF
}

fail() {
    local status=$1
    shift
    printf 'simulated_gpu.sh: %s\n' "$@" >&2
    exit "$status"
}

while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) usage && exit ;;
        --gpu) [ $# -ge 2 ] || fail 2 "--gpu must name a GPU: arc, dg1 or tgl" && gpu=$2 && shift 2 ;;
        --gpu=*) gpu=${1#*=} && shift ;;
        --backend) [ $# -ge 2 ] || fail 2 "--backend must name one: opencl or level_zero" && backend=$2 && shift 2 ;;
        --backend=*) backend=${1#*=} && shift ;;
        --adapter) [ $# -ge 2 ] || fail 2 "--adapter must name one: v1 or v2" && adapter=$2 && shift 2 ;;
        --adapter=*) adapter=${1#*=} && shift ;;
        --) shift && break ;;
        -*) fail 2 "unknown option $1 (see --help)" ;;
        *) break ;;
    esac
done
[ $# -gt 0 ] || fail 2 "no COMMAND given (see --help)"

unset HardwareInfoOverride
case $gpu in
    arc) export ProductFamilyOverride=dg2 ForceDeviceId=0x56a0 HardwareInfoOverride=8x4x16 ;;
    dg1) export ProductFamilyOverride=dg1 ForceDeviceId=0x4905 ;;
    tgl) export ProductFamilyOverride=tgllp ForceDeviceId=0x9a49 ;;
    *) fail 2 "--gpu must be arc, dg1 or tgl, got $gpu" ;;
esac
export NEOReadDebugKeys=1 SetCommandStreamReceiver=1 AUBDumpCaptureFileName=/dev/null
# Each kernel is submitted at once (1), not in batches: a batch lists all allocations of the context, and is submitted
# although another thread (dpnp's, which frees what a kernel needed) has freed one of them: a crash, or an endless loop.
export CsrDispatchMode=1

# shellcheck source=tests/cpu_driver.sh
. "$here/cpu_driver.sh"

advice=("the simulator is in Debian's Intel GPU driver 22.43 (bookworm, trixie; newer drivers lack it); as root type:"
    "    apt-get install -y intel-opencl-icd")
version=$(dpkg-query -W -f '${Version}' intel-opencl-icd 2>/dev/null || true)
case $version in
    "" | 22.43.*) ;;
    *) fail 3 "intel-opencl-icd $version is installed" "${advice[@]}" ;;
esac
gpu_driver=$({ cat /etc/OpenCL/vendors/*.icd; dpkg -L intel-opencl-icd; } 2>/dev/null | grep -m 1 '^/.*libigdrcl\.so$' || true)
[ -e "$gpu_driver" ] || fail 3 "no Intel GPU driver (libigdrcl.so) found" "${advice[@]}"

# A layer before the driver, with what newer ones have. Under another name first, for those who build at the same time.
build_level_zero_driver() {
    local folder=$1 source=$here/simulated_level_zero/driver.c library=$2
    [ ! "$library" -nt "$source" ] || return 0
    command -v gcc >/dev/null || fail 3 "Level Zero needs a compiler; as root type:" "    apt-get install -y gcc libc6-dev"
    mkdir -p "${library%/*}"
    gcc -std=gnu11 -O1 -Wall -Wextra -Werror -fvisibility=hidden -shared -fPIC -I "$folder/include" -o "$library.$$" "$source" \
        -Wl,--no-as-needed "$3" -ldl || fail 3 "the layer before the Level Zero driver could not be built"
    mv "$library.$$" "$library"
}

use_level_zero() {
    local folder=${SIMULATED_LEVEL_ZERO:-${XDG_CACHE_HOME:-$HOME/.cache}/sycl_dnn/simulated_level_zero} driver
    local library=$here/../build/simulated_level_zero/libsimulated_level_zero.so
    driver=$(dpkg -L intel-opencl-icd | grep -m 1 '/libze_intel_gpu\.so\.1$') || fail 3 "intel-opencl-icd has no Level Zero driver"
    "$here/simulated_level_zero/fetch_loader.sh" "$folder" || exit
    build_level_zero_driver "$folder" "$library" "$driver"
    ZE_ENABLE_ALT_DRIVERS=$(realpath "$library")
    export ZE_ENABLE_ALT_DRIVERS LD_LIBRARY_PATH=$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}

# One GPU, one CPU: no driver besides these two. oneDNN compiles for Level Zero with the OpenCL driver.
export OCL_ICD_FILENAMES=$cpu_driver:$gpu_driver OCL_ICD_VENDORS=/dev/null
case $backend in
    opencl) ;;
    level_zero) use_level_zero ;;
    *) fail 2 "--backend must be opencl or level_zero, got $backend" ;;
esac
case $adapter in
    v1) export UR_LOADER_USE_LEVEL_ZERO_V2=0 ;;
    v2) export UR_LOADER_USE_LEVEL_ZERO_V2=1 ;;
    *) fail 2 "--adapter must be v1 or v2, got $adapter" ;;
esac
export ONEAPI_DEVICE_SELECTOR=${ONEAPI_DEVICE_SELECTOR:-*:cpu;$backend:gpu}

# The driver writes a kernel's file in place, and ends a process that reads half of one. So each command has a folder of
# its own, with links to the kernels of earlier ones. The next command takes in what an ended one compiled,
# except its last file: it may have ended while writing that.
take_in_kernels() {
    local folder ended="$1/ended.$$"
    for folder in "$1"/running.*; do
        if [ ! -d "$folder" ] || kill -0 "${folder##*.}" 2>/dev/null || ! mv "$folder" "$ended" 2>/dev/null; then
            continue
        fi
        find "$ended" -name '*.cl_cache' -links 1 -printf '%T@ %p\n' | sort -n | head -n -1 | cut -d ' ' -f 2- |
            xargs -r -d '\n' mv -t "$1"
        rm -r "$ended"
    done
    find "$1" -maxdepth 1 -name '*.cl_cache' -atime +30 -delete
}
kernels=${SIMULATED_GPU_CACHE-${XDG_CACHE_HOME:-$HOME/.cache}/sycl_dnn/simulated_gpu}
if [ -n "$kernels" ]; then
    kernels=$(realpath -m "$kernels")/${version:-unknown}
    export cl_cache_dir=$kernels/running.$$
    mkdir -p "$kernels" && take_in_kernels "$kernels"
    mkdir "$cl_cache_dir"
    find "$kernels" -maxdepth 1 -name '*.cl_cache' -exec ln -t "$cl_cache_dir" {} +
fi
exec "$@"
