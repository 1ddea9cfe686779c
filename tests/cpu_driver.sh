#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of GPUs, with their command: sets cpu_driver, the CPU driver of its Python, and python.
# They define fail.

program=$(command -v -- "$1") || fail 127 "$1: command not found"
python=${PYTHON:-python3}
case ${program##*/} in
    python*) python=$program ;;
    pytest*) [ ! -x "${program%/*}/python" ] || python=${program%/*}/python ;;
esac
cpu_driver=$("$python" - <<'END'
from importlib.metadata import PackageNotFoundError, files

try:
    print(*[f.locate().resolve() for f in files("intel-opencl-rt") or () if f.name == "libintelocl.so"][:1])
except PackageNotFoundError:
    pass
END
)
[ -n "$cpu_driver" ] || fail 3 "the CPU driver is not among the packages of $python; type:" "    $python -m pip install intel-opencl-rt"
