# SPDX-License-Identifier: Apache-2.0
"""float64, which oneDNN's CPU engine does not compute: a result that is exact, or a clear error."""

import importlib
from pathlib import Path

import dpnp
import numpy as np
import pytest
from functional.case import numpy_arguments, specs_of
from functional.checks import check_gradient, check_value
from functional.on_device import to_device

import sycl_dnn
from sycl_dnn import functional as F

FOLDER = Path(__file__).parent


def _name(case):
    return getattr(case.function, "__name__", "")


def _cases():
    """Return two cases of each function: the smallest that is not empty, and the largest."""
    found = {}
    for path in sorted(FOLDER.rglob("test_*.py")):
        if path != Path(__file__):
            module = importlib.import_module(
                ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
            )
            for case in getattr(module, "CASES", []):
                if case.dtype == "float32" and _size(case) and hasattr(F, _name(case)):
                    found.setdefault(_name(case), []).append(case.as_dtype("float64"))
    return [c for every in found.values()
            for c in {id(c): c for c in (min(every, key=_size), max(every, key=_size))}.values()
            ]  # fmt: skip


def _size(case):
    sizes = [int(np.prod(s.shape)) for s in specs_of(case.args)]
    return 0 if 0 in sizes else sum(sizes)


CHOSEN = _cases()
#: Functions without a list of cases: arguments after a float64 matrix of 0.5.
OTHERS = {
    "argmax": ((1,), {}), "argmin": ((1,), {}), "dropout": ((0.5,), {"seed": 1}),
    "eq": ((0.5,), {}), "ge": ((0.5,), {}), "gt": ((0.5,), {}), "le": ((0.5,), {}),
    "lt": ((0.5,), {}), "ne": ((0.5,), {}), "quantize_dynamic": ((), {}),
    "one_hot": ((3,), {}), "astype": (("float32",), {}), "asarray": (("float32",), {}),
}  # fmt: skip
#: They take a QuantizedTensor, a scale of its own, or a condition.
ELSEWHERE = {"QuantizedTensor", "bce_with_logits", "dequantize", "quantized_conv1d",
             "quantized_conv2d", "quantized_conv3d", "quantize", "quantized_linear",
             "quantized_matmul", "where"}  # fmt: skip


def _either(call):
    """Make a call; fail unless it works or says that float64 is the trouble."""
    try:
        call()
    except (NotImplementedError, TypeError) as refusal:
        # Its whole text would ask a process for oneDNN's reasons.
        said = refusal.args[0]
    else:
        return
    assert "float64" in said


@pytest.mark.parametrize("case", CHOSEN, ids=lambda c: f"{_name(c)}-{c}")
@pytest.mark.parametrize("check", [check_value, check_gradient], ids=["value", "gradient"])
def test_exact_or_refused(case, check, queue):
    if check is check_gradient and not case.has_gradient:
        check = check_value
    _either(lambda: check(case, queue))


@pytest.mark.parametrize("name", OTHERS)
def test_functions_without_cases(name, queue):
    x = to_device(np.full((2, 4), 0.5), "float64", queue)
    args, kwargs = OTHERS[name]
    _either(lambda: getattr(F, name)(x, *args, **kwargs))


def test_every_function_is_looked_at():
    assert set(F.__all__) == {_name(c) for c in CHOSEN} | set(OTHERS) | ELSEWHERE


def test_a_refusal_names_function_and_remedy(queue):
    if not queue.sycl_device.is_cpu:
        pytest.skip("the device may compute float64")
    x = to_device(np.ones((2, 3)), "float64", queue)
    words = r"relu: oneDNN has no eltwise_forward .*; it computes no float64: convert with astype"
    with pytest.raises(sycl_dnn.Unimplemented, match=words):
        F.relu(x)
    with pytest.raises(NotImplementedError, match=words):
        sycl_dnn.vjp(F.relu, x)
    with pytest.raises(NotImplementedError, match=r"softsign: oneDNN has no binary .* no float64"):
        F.softsign(x)


def test_gradients_of_overlapping_pieces_are_not_added_as_integers(queue):
    """What only copies forward adds up backward."""
    x = to_device(np.arange(2 * 3 * 5.0).reshape(1, 2, 3, 5), "float64", queue)

    def call():
        y, pullback = sycl_dnn.vjp(F.interpolate, x, (7, 4))
        grad = pullback(dpnp.ones_like(y))[0]
        rows, columns = np.arange(7) * 3 // 7, np.arange(4) * 5 // 4
        wanted = np.outer(np.bincount(rows, minlength=3), np.bincount(columns, minlength=5))
        np.testing.assert_array_equal(dpnp.asnumpy(grad)[0, 0], wanted)

    _either(call)


def test_numbers_stay_float64(queue):
    """What is left to dpnp and to copies keeps every bit."""
    values = np.random.default_rng(0).standard_normal((3, 5))
    x = to_device(values, "float64", queue)
    got = F.cat([F.transpose(x, 0, 1), F.reshape(x, (5, 3))], 1)
    np.testing.assert_array_equal(
        dpnp.asnumpy(got), np.concatenate([values.T, values.reshape(5, 3)], 1)
    )
    assert all(v.dtype == np.float64 for v in numpy_arguments(CHOSEN[0]) if hasattr(v, "dtype"))
