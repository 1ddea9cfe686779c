# SPDX-License-Identifier: Apache-2.0
"""Programs in fresh processes that interpret kernels, with no kernel on disk at first."""

import fresh_process
import pytest

from sycl_dnn import _core
from sycl_dnn.kernels.spirv import Kernel

NEEDS_INTERPRETER = pytest.mark.skipif(
    not _core.Kernel.can_interpret(Kernel("nothing", [], 1).module()),
    reason="only CPUs with AVX2 interpret kernels",
)

_START = """
import os, tempfile
folder = os.environ["SYCL_DNN_CACHE_DIR"] = tempfile.mkdtemp()
from pathlib import Path
import dpctl, dpnp, numpy as np, sycl_dnn
import sycl_dnn.functional as F
def n_built():
    sycl_dnn._core.Kernel.start_together([], [])  # keeps what has been built
    return len(list(Path(folder).rglob("*.kernel")))
def array(*shape, queue=None):
    values = np.random.default_rng(len(shape)).standard_normal(shape).astype("f4")
    return dpnp.asarray(values, sycl_queue=queue)
"""


def output(code: str, mode: str = "first") -> str:
    """Return the output of a program; ``n_built()`` counts the kernels that it compiled."""
    return fresh_process.output(_START + code, SYCL_DNN_INTERPRET=mode)
