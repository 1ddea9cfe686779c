# SPDX-License-Identifier: Apache-2.0
"""torch's functions that are compositions: NumPy's values, also traced; what is drawn."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, vmap
from sycl_dnn.nn import torch_names

A = np.array([[0.5, -2.0, 3.0], [4.0, 0.0, -1.5], [1.0, 7.0, 2.5]], "f4")
B = np.array([[1.0, 2.0, 2.0], [-1.0, 3.0, 0.5], [2.0, 0.0, 1.0]], "f4")
V, W = A[0], B[0]
HOLES = np.where(B == 2, np.nan, A).astype("f4")
#: Calls of ``t``, and of NumPy.
CALLS = [
    ("t.clip(a, -1, 2)", "np.clip(a, -1, 2)"),
    ("t.concat([a, b], 1)", "np.concatenate([a, b], 1)"),
    ("t.moveaxis(a, 0, 1)", "a.T"),
    ("t.vdot(v, w)", "np.vdot(v, w)"),
    ("t.vdot(v + 1j * w, w * 2j + v)", "np.vdot(v + 1j * w, w * 2j + v)"),
    ("t.clone(a)", "a"),
    ("t.atleast_2d(v)", "np.atleast_2d(v)"),
    ("t.atleast_3d(v)", "np.atleast_3d(v)"),
    ("t.atleast_3d(a)", "np.atleast_3d(a)"),
    ("t.broadcast_tensors(a, v)[1]", "np.broadcast_arrays(a, v)[1]"),
    ("t.column_stack([v, a])", "np.column_stack([v, a])"),
    ("t.dstack([a, b])", "np.dstack([a, b])"),
    ("t.fliplr(a)", "np.fliplr(a)"),
    ("t.flipud(a)", "np.flipud(a)"),
    ("t.diag_embed(a)", "np.stack([np.diag(r) for r in a])"),
    ("t.diag_embed(a, -1, 0, 1)", "np.stack([np.diag(r, -1) for r in a], 2)"),
    ("t.diag_embed(k > 3)", "np.stack([np.diag(r) for r in k > 3])"),
    ("t.block_diag(a, b[:2])", "np.block([[a, np.zeros((3, 3))], [np.zeros((2, 3)), b[:2]]])"),
    ("t.cartesian_prod(v, w)", "np.stack([np.repeat(v, 3), np.tile(w, 3)], 1)"),
    ("t.tril_indices(3, 4, 1)", "np.stack(np.tril_indices(3, 1, 4))"),
    ("t.triu_indices(3, 4, -1)", "np.stack(np.triu_indices(3, -1, 4))"),
    ("t.inner(a, b)", "np.inner(a, b)"),
    ("t.inner(a, a[0, 0])", "a * a[0, 0]"),
    ("t.kron(a, b[:2])", "np.kron(a, b[:2])"),
    ("t.kron(v, w)", "np.kron(v, w)"),
    ("t.kron(a, v)", "np.kron(a, v)"),
    ("t.trapezoid(a, dx=0.5)", "((a[:, 1:] + a[:, :-1]) / 4).sum(1)"),
    ("t.trapezoid(a, v, dim=0)", "((a[1:] + a[:-1]) / 2 * np.diff(v)[:, None]).sum(0)"),
    ("t.trapezoid(a, b, dim=0)", "((a[1:] + a[:-1]) / 2 * np.diff(b, axis=0)).sum(0)"),
    ("t.cumulative_trapezoid(a, v, dim=0)",
     "np.cumsum((a[1:] + a[:-1]) / 2 * np.diff(v)[:, None], 0)"),
    ("t.cumulative_trapezoid(a, dx=2.0)", "np.cumsum(a[:, 1:] + a[:, :-1], 1)"),
    ("t.adjoint(a + 1j * b)", "a.T - 1j * b.T"),
    ("t.det(a)", "np.linalg.det(a)"),
    ("t.inverse(a)", "np.linalg.inv(a)"),
    ("t.slogdet(a)[1]", "np.linalg.slogdet(a)[1]"),
    ("t.matrix_power(a, 2)", "a @ a"),
    ("t.logdet(t.stack([a, -a, 0 * a]))", "np.log([*np.linalg.det([a, -a]), 0])"),
    ("t.cholesky(a @ a.T, upper=True)", "np.linalg.cholesky(a @ a.T).T"),
    ("abs(t.svd(a[:2]).V.mT)", "abs(np.linalg.svd(a[:2], False)[2])"),
    ("abs(t.svd(a[:2], some=False).V)", "abs(np.linalg.svd(a[:2])[2].T)"),
    ("abs(t.qr(a[:, :2])[1])", "abs(np.linalg.qr(a[:, :2])[1])"),
    ("t.chain_matmul(a, b, a)", "a @ b @ a"),
    ("t.spmm(a, b)", "a @ b"),
    ("t.t(a) + t.t(v)", "a.T + v"),
    ("t.detach(a)", "a"),
    ("t.diagflat(a[:2], 1)", "np.diagflat(a[:2], 1)"),
    ("t.split_with_sizes(a, [1, 2])[1]", "a[1:]"),
    ("t.searchsorted(s, a)", "np.searchsorted(s, a)"),
    ("t.bucketize(a, s, right=True)", "np.searchsorted(s, a, 'right')"),
    ("t.searchsorted(s, h)", "np.searchsorted(s, h)"),
    ("t.bucketize(h, s, right=True)", "np.searchsorted(s, h, 'right')"),
    ("t.searchsorted(t.sort(a)[0], b)", "(np.sort(a)[:, None] < b[:, :, None]).sum(-1)"),
    ("t.searchsorted(s, a, out_int32=True, side='right')", "np.searchsorted(s, a, 'right')"),
    ("t.searchsorted(t.sort(t.tile(a, (1, 5)))[0], b)",
     "(np.sort(np.tile(a, 5))[:, None] < b[:, :, None]).sum(-1)"),
    ("t.isin(k, t.arange(0, 60, 2, device=k.device))", "np.isin(k, np.arange(0, 60, 2))"),
    ("t.gradient(a)[1]", "np.gradient(a)[1]"),
    ("t.gradient(a, spacing=(s[:3],), dim=1, edge_order=2)[0]",
     "np.gradient(a, s[:3], axis=1, edge_order=2)"),
    ("t.combinations(v)", "v[[[0, 1], [0, 2], [1, 2]]]"),
    ("t.max(a, b)", "np.maximum(a, b)"),
    ("t.min(a, b)", "np.minimum(a, b)"),
    ("t.true_divide(b, a + 9)", "b / (a + 9)"),
    ("t.ravel(a)", "a.ravel()"),
    ("t.isin(k, k[1])", "np.isin(k, k[1])"),
    ("t.isin(k, k[1], invert=True)", "~np.isin(k, k[1])"),
    ("t.trapezoid(k)", "(k.sum(1) / 2).astype('f4')"),
    ("t.isposinf(a / 0)", "np.isposinf(a / 0)"),
    ("t.isneginf(a / 0)", "np.isneginf(a / 0)"),
    ("t.isreal(a)", "np.isreal(a)"),
    ("t.rsub(a, b, alpha=2)", "b - 2 * a"),
    ("t.ldexp(a, k[0, 0])", "a * 256"),
    ("t.dist(a, b, 1)", "abs(a - b).sum()"),
    ("t.addmv(v, a, w, beta=2, alpha=3)", "2 * v + 3 * a @ w"),
    ("t.addr(a, v, w)", "a + np.outer(v, w)"),
    ("t.hsplit(a, [1])[1] + t.vsplit(a, 3)[0].mT", "a[:, 1:] + a[:1].T"),
    ("t.msort(a)", "np.sort(a, 0)"),
    ("t.mvlgamma(b * 0 + 2, 2)", "b * 0 + np.log(np.pi) / 2 + np.log(np.sqrt(np.pi) / 2)"),
    ("t.pinverse(a[:2])", "np.linalg.pinv(a[:2])"),
    ("t.special.xlog1py(0 * a, b - 9)", "0 * a"),
    ("t.special.entr(abs(a) + 1)", "-(abs(a) + 1) * np.log(abs(a) + 1)"),
    ("2 * t.special.ndtr(v) + t.special.expit(v) * 0", "1 + np.array([0.38292492, -0.9544997, "
     "0.9973002])"),
]  # fmt: skip


def operands(make):
    return {"a": make(A), "b": make(B), "v": make(V), "w": make(W), "h": make(HOLES),
            "s": make(np.array([-1.5, 0.0, 2.5], "f4")),
            "k": make(np.array([[8, 0], [3, 3]]))}  # fmt: skip


@pytest.mark.parametrize("traced", [False, True], ids=["called", "compiled"])
@pytest.mark.parametrize(("call", "reference"), CALLS, ids=[c for c, _ in CALLS])
@pytest.mark.sweep(3)
def test_values_are_those_of_numpy(call, reference, traced, queue):
    with np.errstate(all="ignore"):
        expected = eval(reference, {"np": np}, operands(lambda x: x))
    given = operands(lambda x: dpnp.asarray(x, sycl_queue=queue))

    def function(given):
        return eval(call, {"t": torch_names, "abs": F.abs}, given)

    has_operands = "_indices" not in call
    actual = (sycl_dnn.compile(function) if traced and has_operands else function)(given)
    assert actual.shape == np.shape(expected)
    np.testing.assert_allclose(actual.asnumpy(), expected, rtol=2e-6, atol=1e-6)


def test_facts_are_python_values(queue):
    a, b = (dpnp.asarray(x, sycl_queue=queue) for x in (A, B))
    assert torch_names.equal(a, a) is True
    assert torch_names.equal(a, b) is torch_names.equal(a, a[:2]) is False
    assert torch_names.is_floating_point(a) is True
    assert torch_names.is_floating_point(a.astype("i4")) is torch_names.cuda.is_available() is False
    assert torch_names.numel(a) == 9
    assert torch_names.as_tensor(a) is a
    assert torch_names.as_tensor([1.0, 2.0]).dtype == "float32"


def test_gradients_pass(queue):
    a = dpnp.asarray(A, sycl_queue=queue)
    found = sycl_dnn.grad(
        lambda a: torch_names.trapezoid(torch_names.diff(torch_names.clone(a)), dim=0).sum()
    )(a)
    np.testing.assert_allclose(found.asnumpy(), [[-0.5, 0, 0.5], [-1, 0, 1], [-0.5, 0, 0.5]])


def test_blocks_of_torch(queue):
    a = dpnp.asarray(A, sycl_queue=queue)
    with torch_names.autocast("cuda", dtype=torch_names.bfloat16):
        assert F.matmul(a, a).dtype == "bfloat16"
        with torch_names.amp.autocast("cuda", enabled=False):
            assert F.matmul(a, a).dtype == "float32"
    block = lambda x: torch_names.utils.checkpoint.checkpoint(F.tanh, x, use_reentrant=False)  # noqa: E731
    found = sycl_dnn.grad(lambda x: F.sum(block(x)))(a)
    np.testing.assert_allclose(found.asnumpy(), 1 - np.tanh(A) ** 2, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("offset", [-3, -1, 0, 2])
def test_scattered_diagonals_are_those_of_numpy(offset, queue):
    """Values, and the gradients of both arrays."""
    x = np.arange(24, dtype="f4").reshape(3, 2, 4)
    src = -np.ones_like(np.diagonal(x, offset, 0, 2))
    expected = x.copy()
    for j in range(2):
        rows = [i for i in range(3) if 0 <= i + offset < 4]
        for n, i in enumerate(rows):
            expected[i, j, i + offset] = src[j, n]

    def scattered(x, src):
        return torch_names.diagonal_scatter(x, src, offset, 0, 2)

    arrays = [dpnp.asarray(v, sycl_queue=queue) for v in (x, src)]
    slopes = sycl_dnn.grad(lambda *a: (scattered(*a) ** 2).sum(), argnums=(0, 1))
    for run in (lambda f: f, sycl_dnn.compile):
        assert (run(scattered)(*arrays).asnumpy() == expected).all()
        of_x, of_src = run(slopes)(*arrays)
        assert (of_x.asnumpy() == np.where(expected < 0, 0, 2 * expected)).all()
        assert (of_src.asnumpy() == 2 * src).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda a: torch_names.diagonal_scatter(a, a[0], 1),
            r"diagonal_scatter: src must have shape \(2,\), .*\(3,\)",
        ),
        (lambda a: torch_names.searchsorted(a, a[0]), "sorted_sequence must have one axis"),
        (lambda a: torch_names.searchsorted(a[0], a, right=True, side="left"), "agree with right"),
        (lambda a: torch_names.bucketize(a, a), "bucketize: boundaries must have 1 axis"),
        (lambda a: torch_names.flipud(a[0, 0]), "flipud: input must have an axis"),
        (lambda a: torch_names.hsplit(a, 2), "hsplit: indices_or_sections must divide 3"),
    ],
)
def test_invalid_arguments_are_refused(call, words, queue):
    with pytest.raises(ValueError, match=words):
        call(dpnp.asarray(A, sycl_queue=queue))


class Called(nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, x, y):
        return self.call(x, y)


#: Calls of methods, and what they mean in NumPy.
METHODS = {
    "unfold": (lambda x, y: x.unfold(1, 2, 1), lambda x, y: np.stack([x[:, :2], x[:, 1:]], 1)),
    "unfold in steps": (lambda x, y: x.unfold(0, 1, 2), lambda x, y: x[::2, :, None]),
    "frac": (lambda x, y: x.frac(), lambda x, y: x - np.trunc(x)),
    "index_fill_": (lambda x, y: (x * 1).index_fill_(1, y[0].long() * 0, 4.0),
                    lambda x, y: np.concatenate([x[:, :1] * 0 + 4, x[:, 1:]], 1)),
    "diff": (lambda x, y: x.diff(dim=0), lambda x, y: np.diff(x, axis=0)),
    "synonyms": (lambda x, y: x.multiply(y).subtract(y).negative(), lambda x, y: y - x * y),
    "linear algebra": (lambda x, y: x.det() * x.inverse() + x.matrix_power(2) + x.svd().S,
                       lambda x, y: np.linalg.det(x) * np.linalg.inv(x) + x @ x
                       + np.linalg.svd(x)[1]),
    "adjoints": (lambda x, y: (x + 1j * y).mH + (x + 1j * y).H + (x + 1j * y).adjoint(),
                 lambda x, y: 3 * (x.T - 1j * y.T)),
    "comparisons": (lambda x, y: x.greater(y), lambda x, y: x > y),
    "written": (lambda x, y: (x * 1).multiply_(y).clip_(0, 3), lambda x, y: np.clip(x * y, 0, 3)),
    "short": (lambda x, y: x.short() if x.is_contiguous() else x, lambda x, y: x.astype("i2")),
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_methods_in_modules(name, queue):
    call, reference = METHODS[name]
    x, y = (dpnp.asarray(v, sycl_queue=queue) for v in (A, B))
    net, expected = Called(call), reference(A, B)
    for actual in (net(x, y), sycl_dnn.vjp(net, x, y)[0], sycl_dnn.compile(net)(x, y)):
        np.testing.assert_allclose(actual.asnumpy(), expected, rtol=1e-6, atol=1e-5)
        assert actual.dtype == expected.dtype


def test_windows_of_no_size_are_refused(queue):
    with pytest.raises(ValueError, match=r"unfold: size must be in \[0, 3\].* got 4, 1"):
        Called(lambda x, y: x.unfold(1, 4, 1))(*(dpnp.asarray(v, sycl_queue=queue) for v in (A, B)))


def test_windows_are_not_read_after_a_write(queue):
    def changed(x, y):
        z = x * 1
        windows = z.unfold(1, 2, 1)
        z.add_(1)
        return windows.sum()

    def of_windows(x, y):
        z = x * 1
        z.unfold(1, 2, 1).add_(1)
        return z.sum()

    x, y = (dpnp.asarray(v, sycl_queue=queue) for v in (A, B))
    for call in (changed, of_windows):
        with pytest.raises(RuntimeError, match="may share memory with one|is read after add_"):
            Called(call)(x, y)


def test_windows_that_do_not_overlap_are_views(queue):
    def changed(x, y):
        z = x * y
        pairs, apart = z.unfold(0, 2, 2), z.unfold(0, 2, 4)
        pairs[:, 1] += 5
        apart[1, 0] = -1
        z *= 2
        return pairs[2:], z

    x, y = (dpnp.asarray(v, dtype="f4", sycl_queue=queue) for v in (np.arange(8), np.ones(8)))
    call, samples = Called(changed), [v.reshape(1, 1, 8) for v in (x, y)]
    for pairs, z in (call(x, y), sycl_dnn.compile(call)(x, y),
                     [v[0, 0] for v in vmap(vmap(call))(*samples)]):  # fmt: skip
        assert z.tolist() == [0, 12, 4, 16, -2, 20, 12, 24]
        assert pairs.tolist() == [[-2, 20], [12, 24]]


@pytest.mark.parametrize("step", [1, 3])
def test_writes_to_windows_that_are_copies_are_refused_in_vmap(step, queue):
    def changed(row):
        z = row * 1
        windows = z.unfold(0, 2, step)
        windows += 1
        return z

    with pytest.raises(RuntimeError, match="may share memory with one"):
        vmap(Called(lambda x, y: changed(x)))(*[dpnp.ones((2, 8), sycl_queue=queue)] * 2)


def test_indices_as_a_tuple(queue):
    x, y = (dpnp.asarray(v, sycl_queue=queue) for v in (A, B))
    for as_tuple in (False, True):
        found = Called(lambda x, y, t=as_tuple: (x > y).nonzero(as_tuple=t))(x, y)
        found = np.stack([v.asnumpy() for v in found], 1) if as_tuple else found.asnumpy()
        np.testing.assert_array_equal(found, np.argwhere(A > B))


def test_copies_and_values_of_views():
    x = torch_names.as_tensor(np.arange(24, dtype="f4").reshape(2, 3, 4))
    turned = x.mT
    for copy in (turned.clone(), turned.contiguous(), torch_names.clone(turned)):
        copy += 1.0
        np.testing.assert_array_equal(dpnp.asnumpy(copy), dpnp.asnumpy(turned) + 1)
    assert turned.contiguous().flags.c_contiguous
    part = x[1, 1:, ::2]
    assert part.tolist() == part.asnumpy().tolist() == [[16.0, 18.0], [20.0, 22.0]]
    assert x[1, 2, 3].item() == 23.0


def test_devices_are_names():
    assert (torch_names.device("xpu", 1).type, torch_names.device("xpu:1").index) == ("xpu", 1)
    assert torch_names.device("cpu").index is None
    assert torch_names.ones(2, device=torch_names.device("cpu")).sycl_device.is_cpu
    assert nn.Linear(2, 2).to(torch_names.device("cpu")).weight.sycl_device.is_cpu


def test_new_arrays_have_torchs_methods_while_a_module_is_built():
    class Built(nn.Module):
        def __init__(self):
            super().__init__()
            self.made = [
                torch_names.tensor(A).unsqueeze(0), torch_names.Tensor(A).unsqueeze(0),
                torch_names.as_tensor(A).unsqueeze(0), torch_names.LongTensor([1, 2]).unsqueeze(0),
            ]  # fmt: skip

    assert [x.dtype.name for x in Built().made] == ["float32", "float32", "float32", "int64"]


def test_devices_have_the_attributes_of_torchs(queue):
    kind = "cpu" if queue.sycl_device.is_cpu else "xpu"
    met = []

    class Fused(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)
            met.append(self.linear.weight.device)

        def forward(self, x):
            met.extend((x.device, self.linear.weight.device, self.linear(x).device))
            if x.device.type != "cpu":
                return self.linear(x) + torch_names.zeros(2, device=x.device)
            return self.linear(x) + F.ones(2, device=x.device)

    net = Fused().to(queue)
    x = dpnp.ones((3, 2), dtype="f4", sycl_queue=queue)
    shift = float(kind == "cpu")
    for result in (net(x), sycl_dnn.compile(lambda net, x: net(x))(net, x)):
        np.testing.assert_allclose(
            result.asnumpy(), (net.linear(x).asnumpy() + shift), rtol=1e-6, atol=1e-6
        )
    met.append(F.astype(x, "bfloat16").device)
    assert {place.type for place in met[1:]} == {kind}
    assert all((place.index is None) == (place.type == "cpu") for place in met)
    assert all(place == x.device and place.sycl_queue == queue for place in met[1:])
    assert dpnp.ones(2, device=met[-1]).sycl_queue == queue
    assert net.to(x.device) is net
    assert net.to(met[-1]).linear.weight.sycl_queue == queue


def test_new_arrays_may_be_written_to_another():
    out = torch_names.LongTensor(3)
    assert torch_names.arange(0, 3, out=out) is out
    assert out.tolist() == [0, 1, 2]


def test_options_of_torchs_compile_change_nothing():
    net, x = nn.Linear(3, 2), F.ones(2, 3)
    for compiled in (
        torch_names.compile(net, mode="max-autotune", fullgraph=True),
        torch_names.compile(dynamic=False, backend="inductor")(net),
        torch_names.compile(net, disable=True),
    ):
        assert compiled(x).tolist() == net(x).tolist()


def test_names_of_environments_and_shapes():
    assert torch_names.broadcast_shapes((3, 1), (1, 4), (4,)) == (3, 4)
    assert torch_names.get_default_dtype() == torch_names.float32
    assert torch_names.distributed.is_available() is torch_names.distributed.is_initialized()
    assert torch_names.distributed.ReduceOp.SUM == "sum"
    with pytest.raises(AttributeError, match="sycl_dnn.distributed trains in several"):
        _ = torch_names.distributed.nn.all_reduce
    torch_names.set_float32_matmul_precision("high")
    text = repr(torch_names.ones(3))
    torch_names.set_printoptions(linewidth=20, profile="long")
    assert repr(torch_names.ones(3)) == text
    weight = torch_names.ones(4, 3, 5)
    assert nn.init._calculate_fan_in_and_fan_out(weight) == (15, 20)


def test_points_of_equal_ratios():
    np.testing.assert_allclose(torch_names.logspace(-1, 2, 4).asnumpy(), [0.1, 1, 10, 100], 1e-6)
    np.testing.assert_allclose(torch_names.logspace(0, 3, 4, base=2).asnumpy(), [1, 2, 4, 8], 1e-6)


def test_another_default_dtype_is_refused():
    torch_names.set_default_dtype(torch_names.float32)
    with pytest.raises(TypeError, match="set_default_dtype: d must be float32, got float64; give"):
        torch_names.set_default_dtype(torch_names.float64)


def test_facts_of_arrays_outside_of_forwards():
    x = torch_names.tensor(A)
    assert (x.layout, x.is_sparse, x.grad, x.grad_fn) == ("strided", False, None, None)
    np.testing.assert_array_equal(x.mH.asnumpy(), A.T)


@pytest.mark.parametrize("make", ["tensor", "as_tensor", "from_numpy"])
def test_arrays_of_values_are_written_to_in_a_forward(make, queue):
    def called(x, y):
        array = getattr(torch_names, make)(B[0] if make == "from_numpy" else B[0].tolist())
        part = array[:2]
        array.mul_(2)
        array[0] = x[0, 0]
        part.add_(1)
        window = torch_names.bartlett_window(3)
        window += 1
        return array * x + part.sum() + window

    x, y = (dpnp.asarray(v, sycl_queue=queue) for v in (A, B))
    net = Called(called)
    for transform in (lambda f: f, sycl_dnn.compile, lambda f: lambda *xs: sycl_dnn.vjp(f, *xs)[0]):
        function = transform(net)
        for factor in (1, 2):  # each call begins with the values
            values = np.array([A[0, 0] * factor + 1, 5, 4], "f4")
            expected = values * A * factor + values[:2].sum() + [1, 5 / 3, 5 / 3]
            np.testing.assert_allclose(function(x * factor, y).asnumpy(), expected, rtol=1e-6)


def test_normal_numbers_have_the_given_mean_and_deviation(queue):
    with pytest.raises(TypeError, match="normal: size must be given"):
        torch_names.normal(0.0, 1.0)
    sycl_dnn.manual_seed(0)
    means = dpnp.asarray([[1e4], [-1e4]], dtype="f4", sycl_queue=queue)
    drawn = torch_names.normal(means, 2.0)
    assert drawn.shape == (2, 1)
    assert drawn.sycl_queue == queue
    np.testing.assert_allclose(drawn.asnumpy(), means.asnumpy(), atol=20)
    drawn = torch_names.normal(3.0, 0.5, (4000,)).asnumpy()
    assert abs(drawn.mean() - 3) < 0.05
    assert abs(drawn.std() - 0.5) < 0.05


def test_dense_arrays_say_so_where_torch_has_sparse_ones():
    x = torch_names.eye(3)
    with pytest.raises(AttributeError, match="to_sparse'; arrays are dense here, and F.mm"):
        x.to_sparse()
    with pytest.raises(AttributeError, match=r"sparse_coo_tensor.*dense here: F.index_put.F.zeros"):
        _ = torch_names.sparse_coo_tensor

    class Reads(nn.Module):
        def forward(self, x):
            return x * 2 if x.is_sparse else x * 3

    assert Reads()(x).asnumpy().trace() == 9


@pytest.mark.parametrize("name", ["erfinv", "acosh", "atanh", "lgamma", "digamma", "deg2rad"])
def test_functions_of_one_array_also_write(name, queue):
    values = np.array([0.25, -0.5, 0.75], "f4") + (1.5 if name == "acosh" else 0)

    class Writes(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch_names.tensor(values))
            getattr(self.weight.data, name + "_")()

        def forward(self, x):
            y = x * 1
            getattr(y, name + "_")()
            return y

    x = dpnp.asarray(values, sycl_queue=queue)
    expected = getattr(F, name)(x).asnumpy()
    net = Writes()
    np.testing.assert_array_equal(net.weight.asnumpy(), expected)
    np.testing.assert_allclose(net.to(queue)(x).asnumpy(), expected, rtol=1e-6)
    np.testing.assert_array_equal(x.asnumpy(), values)
