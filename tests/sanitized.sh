#!/bin/bash
# Build the extension with AddressSanitizer and UndefinedBehaviorSanitizer and run tests with it.
set -eu -o pipefail

usage() {
    cat <<EOF
usage: tests/sanitized.sh [ARGUMENTS OF PYTEST]

Builds the CMake preset "sanitize" and runs tests/onednn, or what is given, against that extension. What is installed
stays as it is. The first finding ends the run.

PYTHON  the Python where sycl_dnn's test requirements are (default: python); it needs pybind11, cmake and ninja too
BUILD   where to build (default: build/sanitize)
Example: PYTHON=.venv/bin/python tests/sanitized.sh tests/graph -k matmul
EOF
}

if [ "${1-}" = --help ]; then
    usage
    exit 0
fi
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
python=$(command -v "${PYTHON:-python}")
case $python in /*) ;; *) python=$root/$python ;; esac
PATH=$(dirname "$python"):$PATH
build=${BUILD:-$root/build/sanitize}
paths=()
for argument in "$@"; do
    if [ -e "$argument" ]; then argument=$root/$argument; fi
    paths+=("$argument")
done

mkdir -p "$(dirname "$build")"
cmake --preset sanitize -B "$build" -DPython_EXECUTABLE="$python" \
    -Dpybind11_DIR="$("$python" -m pybind11 --cmakedir)" >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 2; }
cmake --build "$build" | tail -n 1

# A package of the checkout's Python files and the new extension; an editable install must not get in before it.
site=$build/site
rm -rf "$site"
mkdir -p "$site/sycl_dnn"
ln -s "$root"/sycl_dnn/* "$site/sycl_dnn/"
ln -sf "$build"/_core.*.so "$site/sycl_dnn/"
cat >"$site/sitecustomize.py" <<'EOF'
import sys

sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in type(f).__module__]
EOF

# SYCL opens libraries with RTLD_DEEPBIND, even such as are not there, at which the sanitizer ends the process.
g++ -shared -fPIC -x c++ -o "$site/shallow.so" - <<'EOF'
#include <dlfcn.h>

extern "C" void *dlopen(const char *name, int flags) {
    static const auto next = reinterpret_cast<void *(*)(const char *, int)>(dlsym(RTLD_NEXT, "dlopen"));
    return next(name, flags & ~RTLD_DEEPBIND);
}
EOF

# Libraries that were found next to the one that opened them are looked for by the shim's path now.
libraries=$("$python" cmake/locate.py | sed -n 's|^LIBSYCL=\(.*\)/.*|\1|p')
cd "$site"
# Leaks are measured by tests/endurance: Python itself frees not all at exit.
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:verify_asan_link_order=0 UBSAN_OPTIONS=print_stacktrace=1
export PYTHONPATH=$site LD_LIBRARY_PATH=$libraries:${LD_LIBRARY_PATH-}
LD_PRELOAD="$site/shallow.so $(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so)" \
    "$python" -m pytest -q -c "$root/pyproject.toml" --rootdir "$root" -p no:cacheprovider \
    -m "not resident_memory" "${paths[@]:-$root/tests/onednn}"
