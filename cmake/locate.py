# SPDX-License-Identifier: Apache-2.0
"""Print the include folders and libraries of the pip-installed oneAPI distributions.

The distributions' own file lists are asked, because pip's isolated build environment is no
prefix that CMake could search. A conda or oneAPI prefix works too: see CMakeLists.txt.
"""

import importlib.metadata
from pathlib import Path

import dpctl


def locate(distribution: str, tail: str) -> Path:
    """Return the absolute path of the file of ``distribution`` whose path ends in ``tail``."""
    for file in importlib.metadata.files(distribution) or ():
        if file.as_posix().endswith(tail):
            return Path(file.locate()).resolve()
    raise SystemExit(f"{tail} not found in the distribution {distribution}")


def main() -> None:
    """Print ``KEY=VALUE`` lines; lists are separated by semicolons as CMake wants them."""
    sycl = locate("intel-sycl-rt", "include/sycl/sycl.hpp")
    dnnl = locate("onednn-devel", "include/oneapi/dnnl/dnnl.hpp")
    includes = dict.fromkeys([sycl.parents[1], dnnl.parents[2], Path(dpctl.get_include())])
    print("INCLUDES=" + ";".join(map(str, includes)))
    print(f"DNNL_HPP={dnnl}")
    print(f"LIBSYCL={locate('intel-sycl-rt', 'libsycl.so')}")
    print(f"LIBDNNL={locate('onednn', 'libdnnl.so')}")


if __name__ == "__main__":
    main()
