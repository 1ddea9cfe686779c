# SPDX-License-Identifier: Apache-2.0
"""Index operands in every kind of view: the stored values and gradients, in every way to call."""

import functools
from dataclasses import replace
from types import SimpleNamespace

import dpnp
import numpy as np
import pytest
from functional import answers
from functional.case import Case, Spec, filled, specs_of
from functional.checks import FALLS_BACK, check, check_value
from functional.on_device import flat

import sycl_dnn
from sycl_dnn import functional as F

VIEWS = ("offset", "strided", "reversed", "transposed")
INTEGERS = ("int8", "uint8", "int16", "uint16", "uint32", "uint64")
X, MASK = Spec((5, 6)), Spec((5, 6), "integer", 2, "bool")


def numbers(high, *shape):
    return Spec(shape, "integer", high)


def _ctc_loss(library, x, target):
    return library.ctc_loss(library.log_softmax(x, 2), target + 1, (6, 5), (3, 2))


#: More calls of functions of a library ``L``: arrays, names.
_CALLS = [
    ("key", lambda L, x, i: x[i] * 1.0, X, numbers(5, 3, 2)),
    ("key-number", lambda L, x, i: x[i] * 1.0, X, numbers(5)),
    ("two-keys", lambda L, x, i, j: x[i, j] * 1.0, X, numbers(5, 3, 2), numbers(6, 3, 2)),
    ("index_select-number", lambda L, x, i: L.index_select(x, 0, i), X, numbers(5)),
    ("masked_fill", lambda L, x, m: L.masked_fill(x, m, 2.0), X, MASK),
    ("where", lambda L, x, y, m: L.where(m, x, y), X, X, MASK),
    ("ctc_loss", _ctc_loss, Spec((6, 2, 5)), numbers(4, 2, 3)),
    ("one_hot", lambda L, x, i: x[0, 0] * L.one_hot(i, 5), X, numbers(5, 3, 4)),
]


def _case(name, call, *args):
    def of_torch(*arrays):
        import torch

        names = vars(torch) | vars(torch.nn.functional)
        return call(SimpleNamespace(**names), *arrays)

    return Case(f"with-numbers-{name}", lambda *arrays: call(F, *arrays), args, torch=of_torch)


STORED_CASES = [_case(*row) for row in _CALLS]


def _chosen():
    """Two cases of each function over numbers, and these."""
    found = {}
    for case in answers.all_cases().values():
        if case.dtype == "float32" and any(s.is_integer for s in specs_of(case.args)):
            found.setdefault(getattr(case.function, "__name__", ""), []).append(case)
    del found["<lambda>"]
    return [case for cases in found.values() for case in cases[:2]] + STORED_CASES


ROWS = _chosen()
pytestmark = FALLS_BACK


def _with(value, **fields):
    """Return arguments whose numbers have other fields."""
    if isinstance(value, Spec):
        return replace(value, **fields) if value.is_integer else value
    if isinstance(value, (list, tuple)):
        return type(value)(_with(v, **fields) for v in value)
    return value


def _viewed(case, **fields):
    return replace(case, args=_with(case.args, **fields))


def _compiled(case):
    """The case as a compiled function of its arrays, called twice."""

    def function(*arrays):
        supply = list(arrays)
        return case.function(*[filled(a, supply) for a in case.args], **case.kwargs)

    call = sycl_dnn.compile(function)

    @functools.wraps(case.function)
    def twice(*args, **kwargs):
        arrays = [a for a in flat(args) if hasattr(a, "shape")]
        call(*arrays)
        return call(*arrays)

    return replace(case, function=twice)


@pytest.mark.sweep(32)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("case", ROWS, ids=str)
def test_views(case, view, queue):
    viewed = _viewed(case, layout=view)
    check(viewed, queue)
    check_value(_compiled(viewed), queue)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("case", [c for c in ROWS if "unpool" not in c.name], ids=str)
def test_int32_indices_with_an_offset(case, queue):
    masks = any(s.dtype == "bool" for s in specs_of(case.args))
    check(_viewed(case, layout="offset", **({} if masks else {"dtype": "int32"})), queue)


@pytest.mark.sweep(16)
@pytest.mark.parametrize("view", ["offset", "reversed"])
@pytest.mark.parametrize("case", ROWS, ids=str)
def test_views_without_kernels(case, view, queue):
    """Computed by dpnp and oneDNN, as on devices without generated kernels."""
    with sycl_dnn.kernel_mode("never"):
        check(_viewed(case, layout=view), queue)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("case", ROWS, ids=str)
def test_other_integer_dtypes_are_correct_or_refused_by_name(case, dtype, queue):
    viewed = _viewed(case, layout="offset", dtype=dtype)
    for run in (viewed, _compiled(viewed)):
        try:
            check_value(run, queue)
        except (TypeError, IndexError) as refusal:
            assert dtype in str(refusal)  # noqa: PT017


#: Calls with one number for all, by a stride of 0, and of what only exists as arrays.
REPEATED = {
    "gather": lambda x, i: F.gather(x, 0, i), "take_along_dim": lambda x, i: F.take(x, i),
    "index_select": lambda x, i: F.index_select(x, 0, i[0]), "key": lambda x, i: F.mul(x[i], 1.0),
    "index_add": lambda x, i: F.index_add(x, 0, i[0], F.cat([x, x[:1]])),
    "scatter_add": lambda x, i: F.scatter_add(x, 0, i, F.ones_like(x)),
    "embedding": lambda x, i: F.embedding(i, x), "nll_loss": lambda x, i: F.nll_loss(x, i[0, :5]),
    "cross_entropy": lambda x, i: F.cross_entropy(x, i[0, :5]), "unique": lambda x, i: F.unique(i),
    "nonzero": lambda x, i: F.nonzero(i),
}  # fmt: skip


@pytest.mark.parametrize("name", REPEATED)
def test_expanded(name, queue):
    function, x = REPEATED[name], dpnp.asarray(np.eye(5, 6, dtype="f4"), sycl_queue=queue)
    number = dpnp.asarray([[9, 3]], sycl_queue=queue)[:, 1:]
    expanded = dpnp.broadcast_to(number, (5, 6))
    expected = function(x, dpnp.ascontiguousarray(expanded)).asnumpy()
    is_traceable = name not in ("unique", "nonzero")
    for call in (function, sycl_dnn.compile(function)) if is_traceable else (function,):
        np.testing.assert_allclose(call(x, expanded).asnumpy(), expected, rtol=1e-6)


def _packed(x, lengths):
    return F.pad_packed_sequence(F.pack_padded_sequence(x, lengths, enforce_sorted=False))[0]


BOXES = np.array([[0, 0.5, 0, 2, 3], [0, 1, 1, 2.5, 2], [0, 0, 0.5, 1, 3]], "f4")
#: Calls that read the values of an array: the array, in views.
EAGER = {
    "nms": (lambda b: F.nms(b[:, 1:], b[:, 4], 0.2), BOXES),
    "roi_align": (lambda b: F.roi_align(F.arange(36.0).reshape(1, 1, 6, 6), b, 2), BOXES),
    "packed": (lambda n: _packed(F.arange(24.0).reshape(4, 3, 2), n), np.array([2, 4, 1])),
    "unique": (F.unique, np.array([[3, 1, 3], [0, 1, 2]])),
    "nonzero": (F.nonzero, np.array([[0, 1, 0], [1, 1, 0]])),
    "repeated": (lambda n: F.repeat_interleave(F.arange(5.0), n), np.array([2, 0, 3, 1, 2])),
}


@pytest.mark.parametrize("name", EAGER)
@pytest.mark.parametrize("view", ["reversed", "strided"])
def test_views_of_what_is_read_on_the_host(name, view):
    function, values = EAGER[name]
    key = np.s_[::-1] if view == "reversed" else np.s_[..., ::2]
    source = values[::-1] if view == "reversed" else np.repeat(values, 2, -1)
    actual, expected = function(dpnp.asarray(source.copy())[key]), function(dpnp.asarray(values))
    np.testing.assert_array_equal(actual.asnumpy(), expected.asnumpy())
