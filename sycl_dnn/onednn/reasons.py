# SPDX-License-Identifier: Apache-2.0
"""oneDNN's reasons for refusing a primitive descriptor.

oneDNN reports reasons only in its verbose log, which is enabled by an environment variable before
the library is first used, and goes to standard output. So the creation is repeated in a separate,
short-lived process, and only when the reasons are read.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

_MODES = {"ONEDNN_VERBOSE": "dispatch,check", "ONEDNN_VERBOSE_TIMESTAMP": "0"}
_HELPER = "from sycl_dnn.onednn import reasons; reasons.main()"
#: Timeout in seconds; the process must start Python and load oneDNN.
_LONGEST = 300


class Recipe:
    """The arguments of a primitive descriptor, in a form that another process can repeat.

    ``name``: the primitive, such as ``"convolution_forward"``.
    """

    def __init__(self, name: str, parameters: dict, attr: Any, engine: Any) -> None:
        self.name = name
        self.attr = attr
        self.device = engine.sycl_device.filter_string
        self.parameters = {key: _portable(value) for key, value in parameters.items()}

    def create(self) -> Any:
        """Create the descriptor in the calling process."""
        from sycl_dnn import _core

        engine = _core.Engine(self.device)
        parameters = {key: _restored(value) for key, value in self.parameters.items()}
        return getattr(_core, self.name)(engine, **parameters, attr=self.attr)


class _Device(str):
    """Represents an Engine by the device's filter string."""


def _portable(value: Any) -> Any:
    from sycl_dnn import _core

    if isinstance(value, _core.PrimitiveDesc):
        return Recipe(value.name, value.parameters, value.primitive_attr, value.engine)
    if isinstance(value, _core.Engine):
        return _Device(value.sycl_device.filter_string)
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, Recipe):
        return value.create()
    if isinstance(value, _Device):
        from sycl_dnn import _core

        return _core.Engine(str(value))
    return value


def _log_kind(name: str) -> str:
    """Return the name of the primitive's kind in oneDNN's log."""
    kind = name.removesuffix("_data").removesuffix("_weights")
    kind = kind.removesuffix("_forward").removesuffix("_backward")
    cells = ("vanilla_rnn", "lstm", "gru", "lbr_gru", "augru", "lbr_augru")
    return "rnn" if kind in cells else kind


def _parse(line: str, kind: str) -> str | None:
    """Parse ``implementation: reason`` or ``reason`` from a log line about ``kind``."""
    fields = line.split(",")
    if len(fields) < 7 or fields[0] != "onednn_verbose":
        return None
    if fields[3] == "create:check":
        return ",".join(fields[5:-1])
    if fields[3] == "create:dispatch" and fields[6] == kind:
        return f"{fields[7]}: {fields[-2]}"
    return None


def find(recipe: Recipe) -> tuple[str, ...]:
    """Return oneDNN's reasons, one line per implementation considered, in its order."""
    package_parent = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(p for p in (package_parent, os.environ.get("PYTHONPATH")) if p)
    try:
        helper = subprocess.run(
            [sys.executable, "-c", _HELPER],
            input=pickle.dumps(recipe),
            capture_output=True,
            env={**os.environ, **_MODES, "PYTHONPATH": path},
            timeout=_LONGEST,
        )
    except subprocess.TimeoutExpired:
        return (f"(unknown: the helper process took longer than {_LONGEST} s)",)
    if helper.returncode != 0:
        last = helper.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return (f"(unknown: the helper process failed: {' '.join(last)})",)
    kind = _log_kind(recipe.name)
    lines = (_parse(line, kind) for line in helper.stdout.decode(errors="replace").splitlines())
    # Reorders are refused without a message.
    return tuple(dict.fromkeys(line for line in lines if line)) or ("(oneDNN's log gives none)",)


def main() -> None:
    """Repeat the creation of the recipe on standard input; the log goes to standard output.

    Only this module may write the input, because it is unpickled.
    """
    from sycl_dnn.errors import DnnlError

    with contextlib.suppress(DnnlError):
        pickle.load(sys.stdin.buffer).create()
