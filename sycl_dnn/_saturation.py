# SPDX-License-Identifier: Apache-2.0
"""Whether an engine adds up products of 8-bit integers as they are."""

from __future__ import annotations

from sycl_dnn import _core

_ISA = _core.cpu_isa
#: Without VNNI the sum of two neighbouring products has 16 bits, and saturates.
_WITHOUT_VNNI = (_ISA.sse41, _ISA.avx, _ISA.avx2, _ISA.avx512_core)


def saturates(engine: _core.Engine) -> bool:
    """Whether oneDNN's products of int8 and uint8 are wrong where they are large.

    Notes
    -----
    Source: oneDNN developer guide, "Nuances of int8 Computations". There is no way to ask an
    implementation.
    """
    return engine.kind is _core.engine_kind.cpu and cpu_saturates()


def cpu_saturates() -> bool:
    """Whether it is so on this CPU, or with the instructions that oneDNN is limited to."""
    return _core.get_effective_cpu_isa() in _WITHOUT_VNNI
