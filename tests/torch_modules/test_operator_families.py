# SPDX-License-Identifier: Apache-2.0
"""Operators in converted graphs against torch, by family."""

import dpnp
import numpy as np
import pytest

import sycl_dnn

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as TF  # noqa: E402

# Each exports both modes, half a second or more.
pytestmark = [pytest.mark.torch, pytest.mark.slow]


def arithmetic(x, y):
    yield from (
        x + 2,
        x - y,
        3 - x,
        x * y,
        x / 2,
        x / y,
        torch.div(x, y, rounding_mode="floor"),
        x**2,
        2**x,
        x.abs() ** 0.5,
        x % 2,
        x // 2,
        -x,
        x.fmod(2),
        torch.add(x, y, alpha=2),
        torch.rsub(x, y),
        x.square(),
        torch.lerp(x, y, 0.3),
        torch.addcmul(x, y, y, value=2),
        torch.addcdiv(x, y, y.abs() + 1),
        x.clamp(-1, 1),
        x.clamp(min=0),
        x.clamp_max(0.5),
        torch.maximum(x, y),
        torch.max(x, y),
        torch.atan2(x, y),
        x.round(),
        x.floor(),
        x.trunc(),
        x.sign(),
        x.exp(),
        x.expm1(),
        x.abs().log1p(),
        x.abs().rsqrt(),
        x.sin(),
        x.tanh(),
        torch.erf(x),
        torch.nan_to_num(x),
        torch.logaddexp(x, y),
        torch.logaddexp2(x, y),
        torch.copysign(x, y),
        torch.hypot(x, y),
        torch.xlogy(x, y.abs()),
        torch.fmax(x, y),
        torch.fmin(x, y),
        torch.heaviside(x, y),
        torch.float_power(x.abs(), 1.5),
        x.abs().add(0.5).lgamma(),
        x.abs().add(0.5).digamma(),
        x.tanh().erfinv(),
        x.sinc(),
        x.frac(),
        x.deg2rad(),
        x.rad2deg(),
        x.signbit().float(),
        x.reciprocal(),
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
        TF.relu(x),
        TF.relu6(x),
        TF.elu(x),
        TF.selu(x),
        TF.celu(x, 2.0),
        TF.gelu(x),
        TF.gelu(x, approximate="tanh"),
        TF.silu(x),
        TF.mish(x),
        TF.softplus(x),
        TF.hardtanh(x),
        TF.hardswish(x),
        TF.hardsigmoid(x),
        TF.leaky_relu(x, 0.2),
        TF.logsigmoid(x),
        TF.softshrink(x),
        TF.hardshrink(x),
        TF.glu(x, 1),
        TF.softmax(x, 1),
        TF.log_softmax(x, -1),
        TF.softmin(x, 1),
        TF.threshold(x, 0.1, 2.0),
        TF.tanhshrink(x),
        TF.softsign(x),
        TF.prelu(x, torch.tensor([0.3])),
        x.softmax(0, dtype=torch.float32),
    )


def shapes(x, y):
    yield from (
        x.view(-1),
        x.reshape(2, 12),
        x.t(),
        x.permute(1, 0),
        x.unsqueeze(1).squeeze(1),
        x[None],
        x[:, 1:5:2],
        x[-1],
        x[..., -1],
        x[:, None, :3],
        x.flip(0),
        x.roll(2, 1),
        torch.cat([x, y], 1),
        torch.stack([x, y]),
        x.chunk(2, 1)[1],
        x.split([1, 3])[1],
        x.split(2, 1)[2],
        x.unbind(0)[2],
        x.expand(2, 4, 6),
        x.repeat(2, 1),
        x.repeat_interleave(2, 1),
        x.tril(),
        x.triu(1),
        x.diagonal(),
        x.narrow(1, 1, 2),
        x.unfold(1, 3, 2),
        x.unflatten(1, (2, 3)),
        x.flatten(),
        x.movedim(0, 1),
        torch.hstack([x, y]),
        x.tile(2, 2),
        x.broadcast_to(3, 4, 6),
        x.select(1, 2),
        TF.pad(x, (1, 2)),
        TF.pad(x[None], (1, 1), mode="reflect"),
        TF.pad(x[None], (1, 1), mode="replicate"),
        torch.meshgrid(x[0], x[:, 0], indexing="ij")[1],
        x.view(2, 2, 6).transpose(0, 2),
        x.contiguous(),
        x.T,
        torch.outer(x[0], y[0]),
        TF.one_hot(x.argmax(1), 6),
    )


def indices(x, y):
    yield from (
        x[torch.tensor([0, 2])],
        x[:, torch.tensor([1, 1, 3])],
        x[torch.tensor([0, 1]), torch.tensor([2, 3])],
        x.gather(1, x.argsort(1)),
        x.index_select(1, torch.tensor([0, 3])),
        x.scatter(1, torch.zeros(4, 1, dtype=torch.int64), 5.0),
        x.scatter_add(1, torch.zeros(4, 6, dtype=torch.int64), y),
        x.index_add(0, torch.tensor([1, 1]), y[:2]),
        x.index_put((torch.tensor([0, 1]), torch.tensor([2, 3])), torch.tensor([1.0, 2.0])),
        x.take_along_dim(x.argmax(1, keepdim=True), 1),
        x.index_copy(0, torch.tensor([1]), y[:1]),
        x.index_fill(0, torch.tensor([1]), 2.0),
        x.masked_scatter(x > 0, y),
        x.take(torch.tensor([1, 2])),
        x.slice_scatter(y[:, :2], 1, 0, 2),
        x.select_scatter(y[0], 0, 1),
        x.diagonal_scatter(y[:, 0], 1),
        torch.searchsorted(x[0].sort().values, y, right=True),
        torch.bucketize(x, torch.tensor([-0.5, 0.5]), out_int32=True),
        x.scatter_reduce(1, torch.zeros(4, 6, dtype=torch.int64), y, "amax"),
        x.kthvalue(2, 1)[0],
        x.median(1)[0],
        x.median(),
        TF.embedding(torch.tensor([0, 2]), x),
        TF.embedding_bag(torch.tensor([[0, 2], [1, 1]]), x, padding_idx=1),
        TF.embedding_bag(torch.tensor([0, 2, 1]), x, torch.tensor([0, 1]), mode="sum"),
        x.topk(2, 1)[0],
        x.topk(2, 1)[1],
        x.sort(1, descending=True)[0],
        x.argsort(0),
        x.argmax(),
        x.argmin(0, keepdim=True),
    )


def reductions(x, y):
    yield from (
        x.sum(),
        x.sum(1),
        x.mean((0, 1)),
        x.mean(0, keepdim=True),
        x.prod(1),
        x.var(),
        x.var(1),
        x.var(1, unbiased=False),
        x.std(0, keepdim=True),
        torch.var_mean(x, 1)[1],
        torch.std_mean(x, (0, 1), correction=0)[0],
        x.max(),
        x.max(1)[0],
        x.max(1)[1],
        x.min(0, keepdim=True)[0],
        x.amax(1),
        x.amin((0, 1)),
        x.norm(),
        x.norm(dim=1),
        torch.linalg.vector_norm(x, 2, 1, True),
        TF.normalize(x),
        x.logsumexp(1),
        x.quantile(0.3, 1),
        x.nanmedian(1)[0],
        x.nansum(1),
        x.count_nonzero(1),
        torch.aminmax(x)[1],
        torch.linalg.cross(x[:, :3], y[:, :3]),
        x.cumsum(1),
        x.cumprod(0),
        x.abs().sum(dtype=torch.float32),
        TF.cosine_similarity(x, y),
        torch.cdist(x, y),
        TF.pairwise_distance(x, y),
        x.norm(1),
        torch.linalg.vector_norm(x, float("inf"), 1),
    )


def products(x, y):
    yield from (
        x @ y.T,
        torch.einsum("ij,kj->ik", x, y),
        torch.einsum("i j, i j -> i", x, y),
        torch.mm(x, y.T),
        torch.bmm(x[None], y.T[None]),
        torch.addmm(x[:, :4], x, y.T, beta=0.5, alpha=2),
        torch.baddbmm(x[None, :, :4], x[None], y.T[None]),
        x.mv(y[0]),
        x[0].dot(y[0]),
        TF.linear(x, y),
        TF.bilinear(x, y, torch.ones(3, 6, 6)),
        torch.matmul(x, y[0]),
        torch.tensordot(x, y, ([1], [1])),
        torch.kron(x[:1], y[:1]),
    )


def losses(x, y):
    yield from (
        TF.mse_loss(x, y),
        TF.mse_loss(x, y, reduction="sum"),
        TF.l1_loss(x, y, reduction="none"),
        TF.smooth_l1_loss(x, y, beta=0.5),
        TF.huber_loss(x, y, delta=0.7),
        TF.cross_entropy(x, torch.tensor([0, 1, 2, 3])),
        TF.cross_entropy(
            x, torch.tensor([0, 1, 2, 3]), label_smoothing=0.1, weight=torch.arange(1.0, 7.0)
        ),
        TF.cross_entropy(x, y.softmax(1)),
        TF.nll_loss(x.log_softmax(1), torch.tensor([0, 1, -100, 3])),
        TF.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
        TF.binary_cross_entropy_with_logits(x, y.sigmoid(), pos_weight=torch.arange(1.0, 7.0)),
        TF.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"),
        TF.kl_div(x.log_softmax(1), y.log_softmax(1), log_target=True),
        TF.triplet_margin_loss(x, y, x + 1),
        TF.poisson_nll_loss(x, y.abs()),
        TF.hinge_embedding_loss(x, y.sign()),
        TF.soft_margin_loss(x, y.sign()),
        TF.margin_ranking_loss(x, y, y.sign()),
        TF.cosine_embedding_loss(x, y, torch.ones(4)),
        TF.multilabel_soft_margin_loss(x, y.sigmoid()),
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
        TF.conv1d(x[:, :, 0], torch.ones(2, 4, 3), stride=2),
        TF.conv_transpose2d(x, torch.ones(4, 2, 3, 3), stride=2, padding=1, output_padding=1),
        TF.conv3d(x[None], torch.ones(2, 2, 1, 3, 3)),
        TF.unfold(x, 3),
        TF.fold(TF.unfold(x, 2, stride=2), (8, 8), 2, stride=2),
        nn.functional.conv_transpose1d(x[:, :, 0], torch.ones(4, 2, 3)),
    )


def pools(x):
    yield from (
        TF.max_pool2d(x, 2),
        TF.max_pool2d(x, 3, 2, 1, ceil_mode=True),
        TF.avg_pool2d(x, 2),
        TF.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        TF.adaptive_avg_pool2d(x, 1),
        TF.adaptive_avg_pool2d(x, (3, None)),
        TF.adaptive_max_pool2d(x, 2),
        TF.max_pool1d(x[:, :, 0], 2),
        TF.avg_pool1d(x[:, :, 0], 2),
        TF.max_pool3d(x[None], 2),
        TF.avg_pool3d(x[None], 2),
        TF.max_pool2d(x, 2, return_indices=True)[0],
        TF.lp_pool2d(x, 2, 2),
        TF.adaptive_max_pool1d(x[:, :, 0], 2),
        TF.max_unpool2d(*TF.max_pool2d(x, 2, return_indices=True), 2),
    )


def norms(x):
    yield from (
        TF.layer_norm(x, (8, 8)),
        TF.layer_norm(x, (8,), torch.ones(8), torch.ones(8)),
        TF.group_norm(x, 2),
        TF.instance_norm(x),
        TF.rms_norm(x, (8,)),
        TF.local_response_norm(x, 3),
        TF.batch_norm(x, torch.zeros(4), torch.ones(4)),
        TF.batch_norm(x, None, None, training=True),
    )


def sizes(x):
    yield from (
        TF.interpolate(x, scale_factor=2),
        TF.interpolate(x, (5, 6), mode="bilinear"),
        TF.interpolate(x, scale_factor=1.5, mode="bilinear", align_corners=True),
        TF.interpolate(x, (5, 6), mode="bicubic"),
        TF.interpolate(x, (5, 6), mode="bilinear", antialias=True),
        TF.interpolate(x, (4, 4), mode="area"),
        TF.interpolate(x[:, :, 0], 5, mode="linear"),
        TF.interpolate(x, (5, 6), mode="nearest-exact"),
        TF.interpolate(x[None], (2, 5, 5), mode="trilinear"),
        TF.pixel_shuffle(x, 2),
        TF.pixel_unshuffle(x, 2),
        TF.channel_shuffle(x, 2),
        TF.grid_sample(x, torch.zeros(2, 3, 3, 2) + 0.2, align_corners=False),
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
        TF.pad(x, (1, 2, 0, 1), mode="circular"),
        TF.pad(x, (1, 1, 1, 1), value=2.0),
    )


def attention(x):
    yield from (
        TF.scaled_dot_product_attention(x, x, x),
        TF.scaled_dot_product_attention(x, x, x, is_causal=True),
        TF.scaled_dot_product_attention(
            x, x, x, attn_mask=torch.ones(8, 8).tril().bool(), scale=0.3
        ),
        TF.scaled_dot_product_attention(x, x[:, :2], x[:, :2], enable_gqa=True),
        torch.einsum("bhid,bhjd->bhij", x, x),
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
        yield torch.histc(x.round(), bins, low, high)
    outside = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, 1.0])
    yield torch.histc(outside + 0 * x[0, 0], 2, 0, 1)


def groups(x, y):
    """Rows of groups with matrices of their own, as mixtures of experts multiply them."""
    rows, matrices = x.reshape(3, 8).to(torch.bfloat16), y.reshape(3, 8, 1).to(torch.bfloat16)
    matrices = matrices.expand(3, 8, 8).contiguous()
    for ends in ((1, 1, 3), (0, 2, 3)):
        offsets = torch.tensor(ends, dtype=torch.int32)
        yield torch.nn.functional.grouped_mm(rows, matrices, offs=offsets).float()


OF_TWO = [
    arithmetic, comparisons, activations, shapes, indices, reductions, products, losses, creation,
    writes, counts, groups,
]  # fmt: skip
OF_IMAGES = [convolutions, pools, norms, sizes, attention]


@pytest.mark.parametrize("family", [*OF_TWO, *OF_IMAGES], ids=lambda family: family.__name__)
def test_operators_match_torch(family):
    torch.manual_seed(0)
    shapes = [(4, 6), (4, 6)] if family in OF_TWO else [(2, 4, 8, 8)]
    inputs = [torch.randn(shape) for shape in shapes]
    net = Family(family)
    actual = sycl_dnn.from_torch(net, *inputs)
    found = actual(*(dpnp.asarray(v.numpy()) for v in inputs))
    for number, (mine, expected) in enumerate(zip(found, net(*inputs), strict=True)):
        values = dpnp.asnumpy(mine)
        assert (values.dtype, values.shape) == (expected.numpy().dtype, expected.shape), number
        np.testing.assert_allclose(values, expected, rtol=1e-4, atol=2e-5, err_msg=str(number))
