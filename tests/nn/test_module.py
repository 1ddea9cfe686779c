# SPDX-License-Identifier: Apache-2.0
"""``nn.Module``: names, trees, modes, state dicts, text, and errors that name the path."""

import copy

import dpctl
import dpnp
import numpy as np
import pytest
from dpnp.exceptions import ExecutionPlacementError

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

SCALE = 1.0


class Net(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(4 * 5 * 5, classes))
        self.scale = nn.Parameter(F.ones(classes))
        self.register_buffer("shift", F.zeros(classes), persistent=False)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        return self.head(x) * self.scale + self.shift


@pytest.fixture
def net():
    sycl_dnn.manual_seed(3)
    return Net()


@pytest.fixture
def x():
    return F.randn(6, 2, 5, 5)


def by_functions(net, x):
    """The same network by functions alone, in eval mode."""
    norm = net.norm
    y = F.conv2d(x, net.conv.weight, net.conv.bias, padding=1)
    y = F.batch_norm(y, norm.running_mean, norm.running_var, norm.weight, norm.bias)
    y = F.linear(F.flatten(F.relu(y), 1), net.head[1].weight, net.head[1].bias)
    return y * net.scale + net.shift


def loss(net, x, labels):
    return F.cross_entropy(net(x), labels)


LABELS = np.array([0, 1, 2, 0, 1, 2])


def close(a, b, tolerance=2e-5):
    a, b = (dpnp.asnumpy(v) if hasattr(v, "sycl_queue") else v for v in (a, b))
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_names_match_torch(net):
    assert list(net.state_dict()) == [
        "scale", "conv.weight", "conv.bias", "norm.weight", "norm.bias", "norm.running_mean",
        "norm.running_var", "norm.num_batches_tracked", "head.1.weight", "head.1.bias",
    ]  # fmt: skip
    assert [n for n, _ in net.named_buffers()][0] == "shift"
    assert [n for n, _ in net.named_modules()] == ["", "conv", "norm", "head", "head.0", "head.1"]
    assert sycl_dnn.tree.paths(net)[1][0] == ".shift"
    assert net.get_submodule("head.1") is net.head[1]
    assert net.get_parameter("head.1.bias") is net.head[1].bias


def test_a_call_equals_the_functions(net, x):
    net.eval()
    close(net(x), by_functions(net, x))
    compiled = sycl_dnn.compile(net)
    close(compiled(x), by_functions(net, x))
    again = sycl_dnn.compile(lambda net, x: net(x))
    close(again(net, x), by_functions(net, x))


@pytest.mark.float64
def test_averages_of_statistics_have_the_digits_of_float64():
    norm, x = (
        nn.BatchNorm1d(2, momentum=None).double(),
        np.random.default_rng(0).normal(size=(5, 2)),
    )
    for batch in (x, x + 1):
        norm(dpnp.asarray(batch))
    np.testing.assert_allclose(dpnp.asnumpy(norm.running_mean), x.mean(0) + 0.5, rtol=1e-14)
    np.testing.assert_allclose(dpnp.asnumpy(norm.running_var), x.var(0, ddof=1), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_narrow_batch_norms_count_on(dtype):
    """Above 256 bfloat16 has even numbers only, and the count stayed; float16 above 2048."""
    norm = nn.BatchNorm1d(4, momentum=None).to(dtype)
    assert str(norm.running_mean.dtype) == dtype
    norm.num_batches_tracked[...] = 2048
    norm(F.ones(3, 4, dtype=dtype))
    assert int(norm.num_batches_tracked) == int(norm.state_dict()["num_batches_tracked"]) == 2049
    copied = nn.BatchNorm1d(4)
    copied.load_state_dict(norm.state_dict(), assign=True)
    copied(F.ones(3, 4, dtype=dtype))
    assert int(copied.num_batches_tracked) == 2050


def test_mode_hyperparameters_and_captured_values_are_tracked(x):
    class Drop(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = 2.0
            self.sizes = [1, 2]
            self.weight = nn.Parameter(F.ones(5))

        def forward(self, x):
            return F.dropout(x * self.weight, 0.5, self.training) * self.factor * SCALE + sum(
                self.sizes
            )

    global SCALE
    net, ones = Drop(), F.ones(40, 5)
    assert {float(v) for v in dpnp.asnumpy(net(ones)).ravel()} == {3.0, 7.0}
    net.eval()
    close(net(ones), np.full((40, 5), 5.0))
    net.factor = 3.0
    close(net(ones), np.full((40, 5), 6.0))
    net.sizes.append(10)
    close(net(ones), np.full((40, 5), 16.0))
    net.weight[...] = 2.0
    close(net(ones), np.full((40, 5), 19.0))
    SCALE = 2.0
    close(net(ones), np.full((40, 5), 25.0))
    SCALE = 1.0


def test_frozen_parameters_have_no_gradient(net, x):
    net.freeze(lambda name: name.startswith("conv"))
    names = [n for n, _ in net.named_parameters(trainable=True)]
    assert names == ["scale", "norm.weight", "norm.bias", "head.1.weight", "head.1.bias"]
    grads = sycl_dnn.grad(loss)(net, x, dpnp.asarray(LABELS))
    assert grads.conv.weight is None
    assert grads.head[1].weight.shape == (3, 100)
    net.unfreeze()
    assert len(list(net.named_parameters(trainable=True))) == 7


def test_state_dicts_round_trip(net, x):
    other = Net().eval()
    assert other.load_state_dict(net.state_dict()) == ([], [])
    close(other(x), net.eval()(x))
    numpy = {n: dpnp.asnumpy(v).astype("f8") for n, v in net.state_dict().items()}
    other = Net().eval()
    other.load_state_dict(numpy)
    assert other.conv.weight.dtype == np.float32
    close(other(x), net(x))
    assert other.conv.weight is not net.conv.weight


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.pop("head.1.bias"), 'Missing key.*"head.1.bias"'),
        (lambda s: s.update(other=s["scale"]), 'Unexpected key.*"other"'),
        (lambda s: s.update(scale=F.ones(4)), r"size mismatch for scale.*\(4,\).*\(3,\)"),
    ],
)
def test_invalid_state_dicts_are_refused_by_name(net, change, message):
    state, before = net.state_dict(), net.scale
    change(state)
    with pytest.raises(RuntimeError, match=message):
        net.load_state_dict(state)
    assert net.scale is before
    if "size" not in message:
        found = net.load_state_dict(state, strict=False)
        assert found.missing_keys + found.unexpected_keys in (["head.1.bias"], ["other"])


def test_copies_dtypes_and_text(net, x):
    other = copy.deepcopy(net).bfloat16()
    assert other.conv.weight.dtype == "bfloat16"
    assert net.conv.weight.dtype == np.float32
    close(F.astype(other.eval()(F.astype(x, "bfloat16")), "float32"), net.eval()(x), 0.1)
    assert repr(net) == (
        "Net(\n  (conv): Conv2d(2, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))\n"
        "  (norm): BatchNorm2d(4, eps=1e-05, momentum=0.1, affine=True, bias=True, "
        "track_running_stats=True)\n"
        "  (head): Sequential(\n    (0): Flatten(start_dim=1, end_dim=-1)\n"
        "    (1): Linear(in_features=100, out_features=3, bias=True)\n  )\n)"
    )
    kinds = []
    net.apply(lambda m: kinds.append(type(m).__name__))
    assert kinds == ["Conv2d", "BatchNorm2d", "Flatten", "Linear", "Sequential", "Net"]


def test_equal_seeds_give_equal_networks():
    results = []
    for _ in range(2):
        sycl_dnn.manual_seed(11)
        results.append(Net())
    for a, b in zip(results[0].parameters(), results[1].parameters(), strict=True):
        assert bool((a == b).all())
    bound = 1 / np.sqrt(18)
    assert float(abs(results[0].conv.weight).max()) <= bound
    assert float(abs(results[0].conv.weight).max()) > 0.8 * bound


class Early(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter(F.ones(2))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Early(), AttributeError, "before Module.__init__"),
        (lambda: nn.Module()(F.ones(2)), NotImplementedError, "forward"),
        (lambda: nn.Linear(2, 2).missing, AttributeError, "'Linear' object has no.*'missing'"),
        (lambda: setattr(nn.Linear(2, 2), "weight", 3), TypeError, "parameter 'weight'"),
        (lambda: nn.Module().register_parameter("weight", 3), TypeError,
         "cannot assign 'int' object to parameter 'weight'"),
        (lambda: nn.Parameter([1.0]), TypeError, "Parameter: data must be a dpnp.ndarray"),
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "in_channels must be divisible"),
        (lambda: nn.BatchNorm2d(3)(F.ones(2, 3)), ValueError, r"expected 4D input \(got 2D"),
        (lambda: nn.Linear(2, 2).get_submodule("a.b"), AttributeError, "a.b: Linear has no"),
        (lambda: nn.Linear(2, 2)(np.ones((2, 2), "f4")), TypeError, "dpnp.ndarray, got numpy"),
        (lambda: nn.Linear(2, 2).to(dtype="int8"), TypeError, "floating-point, got int8"),
        (lambda: nn.TransformerEncoderLayer(8, 2, 16)(F.randn(5, 2, 8), is_causal=True), ValueError,
         "is_causal must come with attn_mask"),
        (lambda: nn.TransformerDecoderLayer(8, 2, 16)(F.randn(5, 2, 8), F.randn(4, 2, 8),
                                                      memory_is_causal=True), ValueError,
         "is_causal must come with attn_mask"),
        (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 1)(
            F.randn(5, 2, 8), is_causal=True), ValueError, "is_causal must come with attn_mask"),
    ],
)  # fmt: skip
def test_invalid_use_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_parameter_on_another_queue_is_named():
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    net[1].to(dpctl.SyclQueue("cpu"))
    x = F.ones(3, 4, device=net[0].weight.sycl_queue)
    expected = r"net\.0\.weight on .* and net\.1\.weight on another"
    for run in (sycl_dnn.compile(lambda net, x: net(x).sum()),
                sycl_dnn.grad(lambda net, x: net(x).sum())):  # fmt: skip
        with pytest.raises(ExecutionPlacementError, match=expected):
            run(net, x)
    with pytest.raises(ExecutionPlacementError, match=r"1\.weight on another"):
        net(x)
    with pytest.raises(ExecutionPlacementError, match=r"add: .* got two queues of [\w:]+; copy"):
        F.add(net[0].weight, net[1].weight[:, :1])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
@pytest.mark.parametrize(
    "make",
    [
        lambda dtype: nn.Linear(4, 3, dtype=dtype),
        lambda dtype: nn.Conv2d(3, 4, 3, dtype=dtype),
        lambda dtype: nn.Embedding(4, 3, dtype=dtype),
        lambda dtype: nn.LSTM(4, 3, dtype=dtype),
        lambda dtype: nn.BatchNorm2d(4, dtype=dtype),
    ],
    ids=["linear", "conv", "embedding", "lstm", "batch norm"],
)
def test_parameters_are_drawn_in_the_dtype_of_the_module(make, dtype):
    values = [F.astype(p, "float32") for p in make(dtype).parameters()]
    assert all(str(p.dtype) == dtype for p in make(dtype).parameters())
    assert all(np.isfinite(dpnp.asnumpy(v)).all() for v in values)
    assert any(np.abs(dpnp.asnumpy(v)).max() > 0 for v in values)
