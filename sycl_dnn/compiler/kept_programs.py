# SPDX-License-Identifier: Apache-2.0
"""Programs of imported models on disk: another process need not trace and fuse.

Only functions with ``content()`` are stored, such as models from files: bytes that determine the
function except for the values of ``leaves()``, its weights, which are not stored. A graph is
compiled again if oneDNN would now select other primitives.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import zlib
from pathlib import Path
from typing import Any

from sycl_dnn import _core, errors, tree
from sycl_dnn.compiler import kept_arrays, kept_graphs
from sycl_dnn.compiler.kept_arrays import NotKept
from sycl_dnn.compiler.kept_graphs import Rewritten
from sycl_dnn.compiler.tracing import CompileTrace
from sycl_dnn.kernels import kept_binaries
from sycl_dnn.trace import nested_arguments, policy

#: Environment variables that may change programs, and those that do not.
_SETTINGS, _OTHERS = ("SYCL_DNN_", "ONEDNN_", "DNNL_"), ("SYCL_DNN_CACHE_DIR",)
_NO_DATA = (
    NotKept, errors.DnnlError, pickle.PicklingError, TypeError, AttributeError, ValueError,
)  # fmt: skip
_TEXT = (str, bytes, int, float, bool, type(None))


class Kept:
    """The file of one program; without effect if the function cannot be stored.

    args, kwargs : the arguments of the call: arrays, numbers and text
    settings : of the compiled function
    contents : captured arrays that the previous program of the function stored; updated
    """

    def __init__(
        self, function: Any, queue: Any, args: Any, kwargs: Any, settings: Any,
        contents: dict[int, Any],
    ) -> None:  # fmt: skip
        content = getattr(function, "content", None)
        content = None if content is None else content()
        self._queue, self._name, self._contents = queue, "", contents
        if content is None or kept_binaries.folder() is None:
            return
        if not _is_text([list(args), kwargs]):
            return
        self._leaves = function.leaves()
        arguments = nested_arguments.replaced([list(args), kwargs], _array_text)
        names = {n for n in os.environ if n.startswith(_SETTINGS)}.difference(_OTHERS)
        variables = [(n, os.environ[n]) for n in sorted(names)]
        units = queue.sycl_device.max_compute_units
        facts = [
            arguments,
            settings,
            policy.current(),
            list(map(_array_text, self._leaves)),
            package(),
        ]
        text = repr([*facts, variables, units])
        self._name = kept_binaries.key(
            queue, hashlib.sha256(content).hexdigest(), hashlib.sha256(text.encode()).hexdigest()
        )

    def keep(self, trace: CompileTrace, rewritten: Rewritten) -> None:
        """Store a graph if that is possible."""
        if not self._name:
            return
        weights = kept_arrays.Weights(self._leaves, self._contents)
        try:
            content = kept_graphs.written(trace, rewritten, weights)
        except _NO_DATA:
            return
        finally:
            self._contents.clear()
            self._contents.update(weights.contents)
        kept_binaries.keep(self._name, content)

    def load(self, trace: CompileTrace) -> Rewritten | None:
        """Return the stored graph over a new trace; None if there is none that is up to date."""
        content = kept_binaries.load(self._name)
        if content is None:
            return None
        try:
            return kept_graphs.read(content, trace, self._leaves, self._queue)
        except (NotKept, errors.DnnlError, pickle.UnpicklingError, zlib.error, EOFError):
            trace.arguments, trace.captured = [], []
            return None


def _is_text(arguments: Any) -> bool:
    """Whether arguments are arrays, or values that are equal if their texts are."""
    leaves = tree.leaves(arguments, lambda value: value is None)
    return all(type(v) in _TEXT or nested_arguments.is_array(v) for v in leaves)


def _array_text(array: Any) -> str:
    raw = array.get_array() if hasattr(array, "get_array") else array
    return f"<{type(array).__name__} {array.dtype} {raw.shape} {raw.strides}>"


@functools.cache
def package() -> str:
    """Return a digest of the package's files and the version of oneDNN."""
    return f"{kept_binaries.digest_of(Path(__file__).parents[1])} {_core.version()}"
