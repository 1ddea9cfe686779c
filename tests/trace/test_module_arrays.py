# SPDX-License-Identifier: Apache-2.0
"""Parameters written to outside of functions: ``.data``, methods that write, initial values."""

import operator

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn
from sycl_dnn.trace import module_arrays
from sycl_dnn.trace.module_arrays import set_tensor_methods, with_methods


def add(w):
    w.data += 1


def multiply(w):
    w.data *= 2


def assign(w):
    w.data = w.data + 3


def assign_elements(w):
    w.data[0] = 5


def assign_some(w):
    w.data[:, 1:] = w.data[:, 1:] * 2 + 1


def by_method(name, *args, **kwargs):
    return lambda w: getattr(w.data, name)(*args, **kwargs)


WRITES = {
    "+=": (add, lambda v: v + 1), "*=": (multiply, lambda v: v * 2),
    "=": (assign, lambda v: v + 3),
    "[0] =": (assign_elements, lambda v: np.vstack([np.full((1, 3), 5.0), v[1:]])),
    "[:, 1:] =": (assign_some, lambda v: np.hstack([v[:, :1], v[:, 1:] * 2 + 1])),
    "copy_": (by_method("copy_", F.ones(2, 3)), np.ones_like),
    "add_": (by_method("add_", 2), lambda v: v + 2),
    "mul_": (by_method("mul_", 0.5), lambda v: v / 2), "zero_": (by_method("zero_"), np.zeros_like),
    "clamp_": (by_method("clamp_", min=0), lambda v: np.maximum(v, 0)),
    "clamp_min_": (by_method("clamp_min_", 0.1), lambda v: np.maximum(v, 0.1)),
    "exp_": (by_method("exp_"), np.exp), "neg_": (by_method("neg_"), np.negative),
    "sub_": (by_method("sub_", 1, alpha=2), lambda v: v - 2),
    "pow_": (by_method("pow_", 2), np.square), "tanh_": (by_method("tanh_"), np.tanh),
    "lerp_": (by_method("lerp_", F.zeros(2, 3), 0.25), lambda v: v * 0.75),
    "triu_": (by_method("triu_"), np.triu), "tril_": (by_method("tril_", -1),
                                                     lambda v: np.tril(v, -1)),
    "fill_": (by_method("fill_", 4), lambda v: np.full_like(v, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.sweep(2)
def test_writes_change_the_parameter_and_those_tied_to_it(name, is_tied):
    write, expected = WRITES[name]
    net, other = nn.Linear(3, 2), nn.Linear(3, 2)
    if is_tied:
        other.weight = net.weight
    values = dpnp.asnumpy(net.weight)
    write(net.weight)
    np.testing.assert_allclose(dpnp.asnumpy(net.weight), expected(values), rtol=1e-6)
    x = F.randn(4, 3)
    want = dpnp.asnumpy(x) @ expected(values).T + dpnp.asnumpy(net.bias)
    np.testing.assert_allclose(dpnp.asnumpy(net(x)), want, rtol=1e-4, atol=1e-5)
    if is_tied:
        np.testing.assert_allclose(dpnp.asnumpy(other.weight), expected(values), rtol=1e-6)


def test_data_of_another_shape_replaces_the_parameter():
    net = nn.Linear(3, 2)
    net.weight.data = F.ones(4, 3)
    assert net.weight.shape == (4, 3)
    assert net.state_dict()["weight"].shape == (4, 3)
    net.weight.data = net.weight.data[:2]
    assert net(F.ones(1, 3)).shape == (1, 2)
    with pytest.raises(TypeError, match="data must be an array, got float"):
        net.weight.data = 1.0


def test_initial_values_of_views():
    net = nn.Linear(3, 4)
    before = dpnp.asnumpy(net.weight)
    for row, fill in enumerate((nn.init.zeros_, nn.init.ones_)):
        fill(net.weight[row])
    nn.init.xavier_uniform_(net.weight.data[2:3])
    nn.init.constant_(net.weight[3, 1:], 7.0)
    found = dpnp.asnumpy(net.weight)
    assert found[0].tolist() == [0, 0, 0]
    assert found[1].tolist() == [1, 1, 1]
    assert (found[2] != before[2]).all()
    assert found[3].tolist() == [before[3, 0], 7, 7]


def test_gradients_of_frozen_parameters_are_none_and_grad_is_none():
    net = nn.Linear(3, 2)
    net.weight.requires_grad_(False)
    net.bias.grad = None
    grads = sycl_dnn.grad(lambda net: F.sum(net(F.ones(1, 3))))(net)
    assert grads.weight is None
    assert grads.bias.tolist() == [1, 1]
    with pytest.raises(AttributeError, match="grad must be None: sycl_dnn.grad"):
        net.bias.grad = F.ones(2)
    with pytest.raises(AttributeError, match="backward"):
        net.weight.backward()


def test_writes_of_another_shape_are_refused():
    net = nn.Linear(3, 2)
    with pytest.raises(ValueError, match=r"add_\(\): the result must have shape \(2, 3\)"):
        net.weight.add_(F.ones(5, 2, 3))


def test_numbers_that_a_dtype_lacks_are_not_written_to_it():
    x = with_methods(F.ones(3)) * 1.5
    for call in (
        lambda: x.int().add_(x), lambda: x.int().mul_(1.5), lambda: x.int().div_(2),
        lambda: x.int().exp_(), lambda: x.int().clamp_(0.5), lambda: x.bool().add_(1),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"_\(\): the result must have dtype (int32|bool), got"):
            call()
    assert x.int().fill_(1.5).tolist() == x.int().copy_(x).tolist() == [1, 1, 1]
    assert x.int().mul_(True).tolist() == x.int().eq_(1).tolist() == [1, 1, 1]
    assert x.half().mul_(x).tolist() == [2.25] * 3


def test_lists_of_indices_out_of_range_are_refused():
    x = with_methods(F.ones(2, 3))
    for key in ([2], (slice(None), [0, 3]), (..., range(4)), np.array([-3]), ([0, 1], [0, 5])):
        with pytest.raises(IndexError, match=r"index: -?\d is out of range for axis"):
            x[key]
        with pytest.raises(IndexError, match="out of range"):
            x[key] = 1
    assert x[[0, -1], 1:].shape == x[None, [True, True], -2:][0].shape == (2, 2)


def test_a_parameter_is_read_and_written_before_a_module_has_it():
    result = nn.Parameter(F.ones(2, 3))
    result[0] = 4.0
    result.mul_(2)
    assert (result.shape, result.dim(), len(result)) == ((2, 3), 2, 2)
    assert dpnp.asnumpy(result.data).tolist() == [[8, 8, 8], [2, 2, 2]]
    assert result[0].tolist() == [8, 8, 8]


SIGNS = {
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "floordiv": operator.floordiv,
    "mod": operator.mod, "lshift": operator.lshift,
}  # fmt: skip


@pytest.mark.parametrize("name", SIGNS)
def test_every_operator_returns_an_array_with_torch_methods(name):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            x = F.arange(1, 5)
            self.given = SIGNS[name](x, x).to("float32")

    x = np.arange(1, 5)
    np.testing.assert_array_equal(dpnp.asnumpy(Net().given), SIGNS[name](x, x))


#: Methods that dpnp's arrays have, too; functions whose results have shapes that depend on values,
#: and attributes.
RESULTS = {
    "abs": abs, "astype": lambda x: x.astype("float32"), "clip": lambda x: x.clip(-1, 1),
    "copy": lambda x: x.copy(), "divmod": lambda x: divmod(x, 2)[0], "mT": lambda x: x.mT,
    "T": lambda x: x.T, "ravel": lambda x: x.ravel(), "round": lambda x: x.round(),
    "swapaxes": lambda x: x.swapaxes(0, 1), "trace": lambda x: x.trace() * x,
    "take": lambda x: x.take(F.asarray(np.array([3, 0]))), "dot": lambda x: x[0].dot(x[1]) * x,
    "row": lambda x: next(iter(x)),
    "unique": lambda x: F.unique(x, return_counts=True)[0],
    "nonzero": lambda x: F.nonzero(x, as_tuple=True)[1].float(),
    "bincount": lambda x: F.bincount(F.astype(F.abs(x[0]), "int64")).float(),
    "real": lambda x: F.complex(x, x * 2).real, "imag": lambda x: F.complex(x, x * 2).imag,
    "masked_select": lambda x: F.masked_select(x, x > 0),
    "reshape": lambda x: x.reshape(shape=(3, 2)), "view": lambda x: x.view(size=(3, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_results_have_the_methods_of_torch(name):
    set_tensor_methods()
    try:
        x = with_methods(F.asarray(np.array([[1.0, -2.0, 4.0], [3.0, 8.0, -1.0]], "f4")))
        result = RESULTS[name](x)
        expected = np.std(np.array(result.tolist()), ddof=1)  # dpnp's own has ddof=0
        assert abs(result.std().item() - expected) <= 1e-5
    finally:
        set_tensor_methods(False)


def reduced(method, dim, dtype):
    return lambda x: getattr(x, method)(dim, dtype=dtype)


@pytest.mark.parametrize("method", ["sum", "prod"])
def test_reductions_with_a_dtype_return_it(method):
    set_tensor_methods()
    try:
        x = with_methods(F.asarray(np.array([[1, 2], [3, 4]])))
        for dtype in ("int32", "int8", "float32"):
            eager, traced = [], []
            for dim in (None, 0):
                eager.append(reduced(method, dim, dtype)(x))
                traced.append(sycl_dnn.compile(reduced(method, dim, dtype))(x))
            assert [str(r.dtype) for r in (*eager, *traced)] == [dtype] * 4
    finally:
        set_tensor_methods(False)


#: Keys with sequences, each an array of indices or a mask.
KEYS = [
    (range(2), range(2)), range(1), (slice(None), range(2)), (slice(None), (0, 2)),
    ((0, 1), (1, 2)), [1, 0], ([0, 1], [1, 2]), (slice(None), [True, False, True]), [], ([],),
    (0, (1, 2), slice(1, 3)), (..., [0, 1]), range(0),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("way", ["called", "traced", "compiled"])
def test_sequences_in_keys_are_arrays_of_indices(key, way, queue):
    values = np.arange(24, dtype="f4").reshape(2, 3, 4)
    items = key if isinstance(key, tuple) else (key,)
    is_sequence = lambda item: isinstance(item, (list, range, tuple))  # noqa: E731
    expected_key = tuple(
        np.asarray(item, None if len(item) else int) if is_sequence(item) else item
        for item in items
    )

    def read_and_write(x):
        y = x * 1
        y[key] = -1
        return x[key], y

    x = module_arrays.handed(dpnp.asarray(values, sycl_queue=queue))
    of_way = {
        "called": read_and_write, "compiled": sycl_dnn.compile(read_and_write),
        "traced": lambda x: sycl_dnn.vjp(read_and_write, x)[0],
    }  # fmt: skip
    read, written = of_way[way](x)
    np.testing.assert_array_equal(dpnp.asnumpy(read), values[expected_key])
    values[expected_key] = -1
    np.testing.assert_array_equal(dpnp.asnumpy(written), values)


def _square(x):
    return x * x


def _energy(x):
    return (x * x).sum()


@pytest.mark.parametrize("transform", [
    lambda x: sycl_dnn.grad(_energy)(x),
    lambda x: sycl_dnn.grad(lambda a, b: (a * b).sum(), (0, 1))(x, x),
    lambda x: sycl_dnn.value_and_grad(_energy)(x)[1],
    lambda x: sycl_dnn.vjp(_square, x)[0],
    lambda x: sycl_dnn.vjp(F.exp, x),
    lambda x: sycl_dnn.vjp(_square, x)[1](x),
    lambda x: sycl_dnn.jvp(_square, (x,), (x,)),
    lambda x: sycl_dnn.hvp(_energy, (x,), (x,)),
    lambda x: sycl_dnn.jacobian(_square)(x),
    lambda x: sycl_dnn.hessian(_energy)(x),
    lambda x: sycl_dnn.vmap(_square)(x),
    lambda x: sycl_dnn.compile(lambda x: {"y": _square(x)})(x)["y"],
    lambda x: sycl_dnn.compile(sycl_dnn.grad(_energy))(x),
    lambda x: sycl_dnn.compile(_square).bind(x)(),
    lambda x: sycl_dnn.plan(_square, x)(),
])  # fmt: skip
def test_results_of_transforms_have_torch_methods_where_they_are_set(transform):
    set_tensor_methods()
    try:
        for _ in range(3):  # later calls are repeated without Python
            found = transform(F.ones(2, 2))
            found = found if isinstance(found, tuple) else (found,)
            arrays = [v for item in found for v in (item if isinstance(item, tuple) else (item,))]
            assert {type(v) for v in arrays if not callable(v)} == {module_arrays.ModuleArray}
    finally:
        set_tensor_methods(False)
    assert type(sycl_dnn.grad(_energy)(F.ones(2))) is dpnp.ndarray
