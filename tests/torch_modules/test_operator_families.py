# SPDX-License-Identifier: Apache-2.0
"""Operators in converted graphs against torch, by family.

Those with a derivative are the calls of the second derivatives; the families have the others.
"""

import inspect

import dpnp
import numpy as np
import pytest

import sycl_dnn

torch = pytest.importorskip("torch")

from functional import test_second_derivatives  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as TF  # noqa: E402

from sycl_dnn.torch_modules import library_operators  # noqa: E402

# Each exports both modes, half a second or more.
pytestmark = [pytest.mark.torch, pytest.mark.slow]


def arithmetic(x, y):
    yield from (
        x + 2,
        3 - x,
        torch.div(x, y, rounding_mode="floor"),
        x % 2,
        x // 2,
        x.fmod(2),
        torch.rsub(x, y),
        torch.max(x, y),
        x.round(),
        torch.heaviside(x, y),
        torch.float_power(x.abs(), 1.5),
        x.signbit().float(),
        2.0**x,
        torch.pow(-2.0, x.round()),
        2 ** x.abs().long(),
        (-2) ** x.abs().long(),
        1.5 ** x.long(),
        (x.long() << 2) + (x.long() >> 1),
    )


def comparisons(x, y):
    yield from (
        (x > y).float(),
        ((x > 0) & (y > 0)).float(),
        ((x > 0) | ~(y > 0)).int(),
        ((x > 0) ^ (y > 0)).long(),
        torch.where(x > 0, x, y),
        torch.where(x > 0, x, 1.0),
        torch.where(x > 0, 0.0, y),
        x.masked_fill(x > 0, 2.5),
        x.eq(y).float(),
        (x != 0).sum(),
        (x > 0).any(1),
        (x > 0).all(),
        torch.logical_and(x > 0, y > 0),
        torch.isnan(x),
        (x > y).sum(1),
    )


def activations(x, y):
    yield from (
        TF.prelu(x, torch.tensor([0.3])),
        x.softmax(0, dtype=torch.float32),
    )


def shapes(x, y):
    yield from (
        x.view(-1),
        x.reshape(2, 12),
        x.t(),
        x[None],
        x[:, 1:5:2],
        x[-1],
        x[..., -1],
        x[:, None, :3],
        x.split([1, 3])[1],
        x.repeat(2, 1),
        x.unfold(1, 3, 2),
        TF.pad(x[None], (1, 1), mode="replicate"),
        x.view(2, 2, 6).transpose(0, 2),
        x.contiguous(),
        x.T,
        TF.one_hot(x.argmax(1), 6),
    )


def indices(x, y):
    yield from (
        x[torch.tensor([0, 2])],
        x[:, torch.tensor([1, 1, 3])],
        x[torch.tensor([0, 1]), torch.tensor([2, 3])],
        x.gather(1, x.argsort(1)),
        x.scatter(1, torch.zeros(4, 1, dtype=torch.int64), 5.0),
        x.scatter(1, torch.zeros(4, 1, dtype=torch.int64), y, reduce="multiply"),
        x.index_put((torch.tensor([0, 1]), torch.tensor([2, 3])), torch.tensor([1.0, 2.0])),
        x.index_copy(0, torch.tensor([1]), y[:1]),
        x.index_fill(0, torch.tensor([1]), 2.0),
        x.masked_scatter(x > 0, y),
        x.take(torch.tensor([1, 2])),
        x.diagonal_scatter(y[:, 0], 1),
        torch.searchsorted(x[0].sort().values, y, right=True),
        torch.searchsorted(x[0], y, sorter=x[0].sort().indices),
        torch.bucketize(x, torch.tensor([-0.5, 0.5]), out_int32=True),
        x.scatter_reduce(1, torch.zeros(4, 6, dtype=torch.int64), y, "amax"),
        x.median(),
        TF.embedding_bag(torch.tensor([[0, 2], [1, 1]]), x, padding_idx=1),
        TF.embedding_bag(torch.tensor([0, 2, 1]), x, torch.tensor([0, 1]), mode="sum"),
        x.topk(2, 1)[1],
        x.argsort(0),
        x.argmax(),
        x.argmin(0, keepdim=True),
    )


def reductions(x, y):
    yield from (
        x.mean(0, keepdim=True),
        x.var(1, unbiased=False),
        torch.std_mean(x, (0, 1), correction=0)[0],
        x.max(1)[1],
        x.min(0, keepdim=True)[0],
        x.nanmedian(1)[0],
        x.count_nonzero(1),
        torch.linalg.cross(x[:, :3], y[:, :3]),
        x.abs().sum(dtype=torch.float32),
    )


def products(x, y):
    yield from (
        torch.einsum("i j, i j -> i", x, y),
        torch.matmul(x, y[0]),
        torch.kron(x[:1], y[:1]),
    )


def creation(x, y):
    yield from (
        x + torch.zeros(6),
        torch.ones_like(x) * x,
        x + torch.arange(6),
        x.new_zeros(3) + x[0, 0],
        torch.full((2,), 1.5) * x[0, 0],
        x + torch.linspace(0, 1, 6),
        x.float(),
        x.to(torch.float32),
        x.type_as(y),
        x.long(),
        x.detach(),
        x + torch.eye(4, 6),
        x.clone(),
        torch.scalar_tensor(2.0) * x,
        torch.scalar_tensor(3),
        x.to(torch.float64),
        x.new_full((2,), 3.0) + x[0, 0],
        torch.empty_like(x).fill_(2.0) + x,
        x.double(),
        torch.zeros_like(x).copy_(y[0]) + x,
    )


def convolutions(x):
    yield from (
        TF.conv2d(x, torch.ones(4, 2, 3, 3) / 9, padding=1, groups=2),
        TF.conv2d(x, torch.ones(2, 4, 3, 3), padding="same", dilation=2),
        TF.conv2d(x, torch.ones(2, 4, 2, 2), stride=2, padding="valid"),
        TF.conv_transpose2d(x, torch.ones(4, 2, 3, 3), stride=2, padding=1, output_padding=1),
    )


def pools(x):
    yield from (
        TF.max_pool2d(x, 3, 2, 1, ceil_mode=True),
        TF.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        TF.adaptive_avg_pool2d(x, (3, None)),
    )


def sizes(x):
    yield from (
        TF.interpolate(x, scale_factor=1.5, mode="bilinear", align_corners=True),
        TF.interpolate(x, (5, 6), mode="bilinear", antialias=True),
        TF.interpolate(x, (5, 6), mode="nearest-exact"),
        TF.grid_sample(
            x,
            TF.affine_grid(
                torch.tensor([[[1.0, 0, 0.1], [0, 1, 0]]] * 2), (2, 4, 5, 5), align_corners=False
            ),
            mode="nearest",
            padding_mode="border",
            align_corners=False,
        ),
        TF.upsample(x, scale_factor=2, mode="nearest"),
        TF.pad(x, (1, 1, 1, 1), value=2.0),
    )


def attention(x):
    yield from (
        TF.scaled_dot_product_attention(
            x, x, x, attn_mask=torch.ones(8, 8).tril().bool(), scale=0.3
        ),
        TF.scaled_dot_product_attention(x, x[:, :2], x[:, :2], enable_gqa=True),
    )


def writes(x, y):
    """Yield copies that were written into, by views too."""
    for write in WRITES:
        result = x.clone()
        write(result, y)
        yield result


def _by_mask(x, y):
    x[x > 0] = 0


def _by_view(x, y):
    x.view(2, 12)[0] = 3
    x.t()[0] += 1


def _of_slices(x, y):
    x[:, 1:3] += y[:, :2]
    x[:, ::2] = y[:, ::2]
    x[-1, -2:] = y[0, :2]
    x[1, 2] = 7


def _of_rows(x, y):
    x[torch.tensor([0, 2])] = y[:2]
    x[0] = 1.0


WRITES = [
    _by_mask, _by_view, _of_slices, _of_rows, lambda x, y: x.relu_().mul_(2).add_(y),
    lambda x, y: x.zero_(), lambda x, y: x.copy_(y[0]), lambda x, y: x.masked_fill_(y > 0, 1.0),
    lambda x, y: x.fill_(2.0), lambda x, y: x.clamp_(-0.5, 0.5).div_(3),
    lambda x, y: x.diagonal().mul_(y[0, 0]),
]  # fmt: skip


class Family(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return list(self.function(*args))


def counts(x, y):
    for bins, low, high in ((4, -1, 1), (7, -3, 0.5), (5, 0, 4)):
        yield torch.histc(x, bins, low, high)
        yield torch.histc(x, bins)
        yield torch.histc(x.round(), bins, low, high)
    outside = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, 1.0])
    yield torch.histc(outside + 0 * x[0, 0], 2, 0, 1)


def groups(x, y):
    """Each group of rows has its own matrix, as in mixtures of experts."""
    rows, matrices = x.reshape(3, 8).to(torch.bfloat16), y.reshape(3, 8, 1).to(torch.bfloat16)
    matrices = matrices.expand(3, 8, 8).contiguous()
    for ends in ((1, 1, 3), (0, 2, 3)):
        offsets = torch.tensor(ends, dtype=torch.int32)
        yield torch.nn.functional.grouped_mm(rows, matrices, offs=offsets).float()


def spectra(x, y):
    z = torch.fft.fft(x) * (1 + 2j)
    yield from (
        z,
        z.conj() * z,
        z.imag,
        torch.fft.irfft(torch.fft.rfft(x, norm="ortho"), n=6, norm="ortho"),
        torch.fft.ifft2(torch.fft.fft2(x)).real,
        torch.fft.fftshift(x),
        torch.fft.hfft(x, n=6),
        torch.view_as_complex(x.reshape(4, 3, 2)) * torch.polar(y.abs(), x)[:, :3],
        torch.view_as_real(torch.complex(x, y)),
        torch.cat([z, z]) @ z.mT,
        torch.zeros(4, 6, dtype=torch.cfloat).index_fill(1, torch.tensor([1]), 2) + x,
        torch.stft(x, 4, 2, window=torch.hann_window(4), return_complex=True),
        torch.istft(
            torch.stft(x, 4, 2, window=torch.ones(4), return_complex=True),
            4,
            2,
            window=torch.ones(4),
        ),
    )


def matrices(x, y):
    a = x @ x.mT + torch.eye(4)
    lower, (q, r) = torch.linalg.cholesky(a), torch.linalg.qr(x.mT)
    yield from (
        lower,
        torch.linalg.solve(a, y),
        torch.linalg.solve_triangular(lower, y, upper=False),
        torch.cholesky_solve(y, lower),
        torch.cholesky_inverse(lower),
        torch.linalg.inv(a),
        torch.linalg.det(a),
        torch.logdet(a),
        torch.linalg.slogdet(a)[1],
        torch.linalg.eigh(a)[0],
        torch.linalg.svd(x)[1],
        torch.linalg.svdvals(x),
        torch.linalg.pinv(x),
        torch.linalg.matrix_rank(a),
        torch.linalg.matrix_norm(x, "nuc"),
        torch.linalg.matrix_power(a, 3),
        torch.linalg.multi_dot([x, y.mT, x]),
        torch.linalg.lu_solve(*torch.linalg.lu_factor(a), x),
        torch.matrix_exp(a / 9),
        q @ r,
        torch.tensordot(x, y, ([0], [0])),
        torch.block_diag(x, y),
        torch.addr(a, x[:, 0], y[:, 0], alpha=2),
    )


def statistics(x, y):
    yield from (
        *torch.cummax(x, 1),
        torch.logcumsumexp(x, 1),
        *torch.mode(x.round(), 1),
        torch.special.entr(y.abs()) + torch.special.i1e(x) + torch.special.ndtri(x.sigmoid()),
        torch.polygamma(2, y.abs() + 1),
        torch.renorm(x, 2, 0, 1.0),
        torch.trapezoid(x),
        torch.isin(x.round(), torch.tensor([0.0, 1.0])),
        torch.ldexp(x, torch.tensor(2)),
        torch.pdist(x),
        x[:, torch.tril_indices(3, 3)[0]],
        torch.hstack([x, y]),
        torch.tensor_split(x, 4, 1)[1],
    )


OF_TWO = [
    arithmetic, comparisons, activations, shapes, indices, reductions, products, creation, writes,
    counts, groups, spectra, matrices, statistics,
]  # fmt: skip
OF_IMAGES = [convolutions, pools, sizes, attention]


@pytest.mark.parametrize("family", [*OF_TWO, *OF_IMAGES], ids=lambda family: family.__name__)
def test_operators_match_torch(family):
    torch.manual_seed(0)
    shapes = [(4, 6), (4, 6)] if family in OF_TWO else [(2, 4, 8, 8)]
    inputs = [torch.randn(shape) for shape in shapes]
    net = Family(family)
    actual = sycl_dnn.from_torch(net, *inputs)
    found = actual(*(dpnp.asarray(v.numpy()) for v in inputs))
    assert_near(found, net(*inputs))


def assert_near(found, wanted):
    for number, (mine, expected) in enumerate(zip(found, wanted, strict=True)):
        values = dpnp.asnumpy(mine)
        assert (values.dtype, values.shape) == (expected.numpy().dtype, expected.shape), number
        np.testing.assert_allclose(values, expected, rtol=1e-4, atol=2e-5, err_msg=str(number))


class Calls(nn.Module):
    """Texts of calls over named operands."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def forward(self, **operands):
        names = test_second_derivatives.names_of_torch(torch, torch.float32)
        return [eval(call, {**names, **operands}) for call in self.calls]


#: torch exports no conditions on values.
REFUSED = ("gaussian", "cov", "corrcoef")
CALLS = [c for c in test_second_derivatives.CALLS if not c.startswith(REFUSED)]


@pytest.mark.parametrize("share", range(12))
def test_calls_match_torch(share):
    shapes, rng = test_second_derivatives._SHAPES, np.random.default_rng(share)
    inputs = {n: torch.tensor(rng.uniform(0.2, 1.4, s), dtype=torch.float32)
              for n, s in shapes.items()}  # fmt: skip
    net = Calls(CALLS[share::12]).eval()
    actual = sycl_dnn.from_torch(net, kwargs=inputs)
    found = actual(**{n: dpnp.asarray(v.numpy()) for n, v in inputs.items()})
    assert_near(found, net(**inputs))


def test_draws_lie_in_their_ranges():
    def draws(x):
        yield x.new_empty(1000).uniform_(2, 3)
        yield x.new_empty(1000).exponential_(4.0)
        yield x.new_empty(1000).normal_(5.0, 0.1)
        yield torch.randint(3, 6, (1000,)) + torch.randint(1, (1000,)) + 0 * x[0]
        yield torch.randperm(1000) + 0 * x[0]

    sycl_dnn.manual_seed(0)
    net = sycl_dnn.from_torch(Family(draws), torch.ones(1))
    uniform, exponential, normal, integers, order = map(dpnp.asnumpy, net(dpnp.ones(1, dtype="f4")))
    assert 2 <= uniform.min() < 2.1 < 2.9 < uniform.max() <= 3
    assert exponential.min() >= 0
    assert exponential.mean() == pytest.approx(0.25, abs=0.05)
    assert [normal.mean(), normal.std()] == pytest.approx([5, 0.1], abs=0.02)
    assert sorted(set(integers)) == [3, 4, 5]
    assert sorted(order) == list(range(1000))


#: Names of parameters in the operator and in the function.
RENAMED = {"self": "input", "input2": "L", "sections": "indices_or_sections"}
#: Functions that accept the parameters of several overloads.
OVERLOADED = ("randint", "linalg_matrix_rank", "linalg_pinv")


def test_rows_of_the_library_have_the_parameters_of_torch():
    for name, row in library_operators.SAME.items():
        operator = getattr(torch.ops.aten, name)
        expected = [
            RENAMED.get(argument.name, argument.name)
            for argument in getattr(operator, operator.overloads()[0])._schema.arguments
            if not argument.kwarg_only and argument.name != "generator"
        ]
        actual = list(inspect.signature(row).parameters)
        assert name in OVERLOADED or actual[1 : len(expected)] == expected[1:], name
