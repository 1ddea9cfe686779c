#!/bin/bash
# Run a command with a simulated Intel GPU: Debian's OpenCL driver compiles and accepts work for it, and executes nothing.
set -eu

gpu=arc

usage() {
    cat <<EOF
usage: tests/simulated_gpu.sh [--gpu arc|dg1|tgl] COMMAND...

Runs COMMAND on a machine that seems to have one Intel GPU (and its CPU device). Kernels are compiled and submitted
but not executed: everything can be tested there except values. The exit status is COMMAND's, or 3 without a driver.

  --gpu arc   Arc A770, Xe-HPG, discrete, matrix units (default)
  --gpu dg1   Iris Xe MAX, Xe-LP, discrete
  --gpu tgl   Tiger Lake, Xe-LP, integrated

PYTHON names the Python whose packages hold the CPU driver, where COMMAND is not itself a python or pytest.
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

program=$(command -v -- "$1") || fail 127 "$1: command not found"
python=${PYTHON:-python3}
case ${program##*/} in
    python*) python=$program ;;
    pytest*) [ ! -x "${program%/*}/python" ] || python=${program%/*}/python ;;
esac
cpu_driver=$("$python" - <<'EOF'
from importlib.metadata import PackageNotFoundError, files

try:
    print(*[f.locate().resolve() for f in files("intel-opencl-rt") or () if f.name == "libintelocl.so"][:1])
except PackageNotFoundError:
    pass
EOF
)
[ -n "$cpu_driver" ] || fail 3 "the CPU driver is not among the packages of $python; type:" "    $python -m pip install intel-opencl-rt"

advice=("the simulator is in Debian's Intel GPU driver 22.43 (bookworm, trixie; newer drivers lack it); as root type:"
    "    apt-get install -y intel-opencl-icd")
version=$(dpkg-query -W -f '${Version}' intel-opencl-icd 2>/dev/null || true)
case $version in
    "" | 22.43.*) ;;
    *) fail 3 "intel-opencl-icd $version is installed" "${advice[@]}" ;;
esac
gpu_driver=$({ cat /etc/OpenCL/vendors/*.icd; dpkg -L intel-opencl-icd; } 2>/dev/null | grep -m 1 '^/.*libigdrcl\.so$' || true)
[ -e "$gpu_driver" ] || fail 3 "no Intel GPU driver (libigdrcl.so) found" "${advice[@]}"

# One GPU, one CPU: no driver besides these two, and no GPU through Level Zero.
export OCL_ICD_FILENAMES=$cpu_driver:$gpu_driver OCL_ICD_VENDORS=/dev/null
export ONEAPI_DEVICE_SELECTOR=${ONEAPI_DEVICE_SELECTOR:-*:cpu;opencl:gpu}
exec "$@"
