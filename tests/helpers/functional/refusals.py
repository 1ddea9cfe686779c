# SPDX-License-Identifier: Apache-2.0
"""Calls of functions that are refused, a line each."""

import dpnp

import sycl_dnn
from sycl_dnn import functional as F

#: Makers of arrays of ones by letter.
_DTYPES = {"f": "f4", "h": "f2", "d": "f8", "i": "i8", "n": "i4", "c": "c8", "m": "?", "u": "u1"}


def _names(queue):
    """Return functions, and makers of arrays; that of zeros of int64 is z."""

    def ones(dtype):
        return lambda *shape: dpnp.ones(shape, dtype=dtype, sycl_queue=queue)

    def cell(dtype="f4", n=20):
        """Two states, and weights of an LSTM of 4 channels and 5 features."""
        new = ones(dtype)
        return (new(1, 2, 5), new(1, 2, 5)), [new(n, 4), new(n, 5), new(n), new(n)]

    def mha(width, heads=2, bias_k=None):
        x, w = ones("f4")(5, 3, 8), ones("f4")(24, 8)
        return (x, x, x, width, heads, w, None, bias_k, None, False, 0.0, w[:8], None)

    made = {letter: ones(dtype) for letter, dtype in _DTYPES.items()}
    return {
        **{name: getattr(F, name) for name in (*dir(F), "fft", "linalg")}, **made,
        "cell": cell, "mha": mha, "q": lambda *shape: F.quantize_dynamic(made["f"](*shape)),
        "z": lambda *shape: dpnp.zeros(shape, dtype="i8", sycl_queue=queue),
        "bf": lambda *shape: sycl_dnn.asarray(made["f"](*shape), "bfloat16"),
        "int4": lambda *shape: sycl_dnn.asarray(made["f"](*shape), "int4"),
    }  # fmt: skip


def assert_refused(rows, error, queue):
    """Each call of ``CALL -> words`` raises the error, which begins with the function's name."""
    wrong, names = [], _names(queue)
    for row in filter(None, rows.splitlines()):
        call, _, words = row.partition(" -> ")
        name = call.partition("(")[0].rpartition(".")[2]
        try:
            said = f"{eval(call, dict(names))} was returned"
        except Exception as refusal:
            said = str(refusal)
            if isinstance(refusal, error) and said.startswith(f"{name}: ") and words in said:
                continue
        wrong.append(f"{row}\n    {said[:150]}")
    assert not wrong, "\n".join(wrong)
