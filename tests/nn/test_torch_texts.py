# SPDX-License-Identifier: Apache-2.0
"""Source of ordinary torch modules runs unchanged: a collection of them, under both libraries."""

import dpnp
import numpy as np
import pytest
import torch_texts

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, tree
from sycl_dnn.nn import torch_names
from sycl_dnn.trace import module_arrays

#: More texts: names that are attributes of ``nn``, and class methods.
TEXTS = torch_texts.TEXTS | {
    "pretrained embedding": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fixed = nn.Embedding.from_pretrained(torch.ones(9, 4))
        self.tuned = nn.Embedding.from_pretrained(torch.ones(9, 4) * 0.5, freeze=False,
                                                  padding_idx=0)
        self.out = nn.Linear(4, 2)

    def forward(self, x):
        return self.out(self.fixed(x) + self.tuned(x))
""",
        [((2, 3), int)],
    ),
    "masks of spectra": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))
        self.gain = nn.Parameter(torch.ones(9, 1))
        self.angles = nn.Parameter(torch.rand(3, 3))

    def forward(self, x):
        z = torch.stft(x, 16, 4, window=self.window, return_complex=True)
        floor = torch.tensor([1e-3])
        floor.mul_(2)
        louder = torch.sigmoid(self.gain * torch.log10(z.abs() + floor))
        pairs = torch.view_as_real(z * louder)
        pairs[..., 1] *= 0.5
        y = torch.istft(torch.view_as_complex(pairs), 16, 4, window=self.window, length=x.size(-1))
        h = torch.complex(self.angles, self.angles.tanh())
        values, vectors = torch.linalg.eigh(h + h.mH)
        wave = torch.sigmoid(vectors @ (values * torch.exp(1j * values)).diag() @ vectors.mH)
        return y, torch.vdot(wave[0], wave[1]).imag, torch.sgn(wave).real
""",
        [(2, 50)],
    ),
    "overridden parts of layers": (
        """
class Standardized(nn.Conv2d):
    def _conv_forward(self, input, weight, bias):
        weight = weight - weight.mean(dim=(1, 2, 3), keepdim=True)
        return super()._conv_forward(input, weight, bias)


class Encoder(nn.TransformerEncoderLayer):
    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        return 2 * super()._sa_block(x, attn_mask, key_padding_mask, is_causal=is_causal)

    def _ff_block(self, x):
        return super()._ff_block(x.flip(1))


class Decoder(nn.TransformerDecoderLayer):
    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        return super()._mha_block(x, mem[:, 1:], attn_mask, key_padding_mask, is_causal) + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = Standardized(3, 8, 3, padding=1, padding_mode="circular")
        self.encoder = Encoder(8, 2, 16, dropout=0.0, batch_first=True)
        self.decoder = Decoder(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True)

    @torch.jit.unused
    def told(self):
        return {"conv"}

    @torch.jit.ignore
    def forward(self, x):
        x = self.conv(x).flatten(2).transpose(1, 2)
        y = self.encoder(x)
        return y if torch.jit.is_scripting() else self.decoder(x, y)
""",
        [(2, 3, 3, 3)],
    ),
}


def made(name, **scope):
    namespace = {"__name__": "texts", **scope}
    exec(TEXTS[name][0], namespace)  # our own text
    return namespace["Net"]()


def inputs(name):
    rng = np.random.default_rng(3)
    return [
        rng.integers(0, 9, s[0]) if s[-1] is int else rng.standard_normal(s).astype("f4")
        for s in TEXTS[name][1]
    ]


def total(outputs):
    floats = [v for v in tree.leaves(outputs) if "float" in str(v.dtype)]
    result = F.sum(F.square(floats[0]))
    for value in floats[1:]:
        result = result + F.sum(F.square(value))
    return result


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.sweep(3)
def test_source_gives_equal_results_eager_and_compiled(name):
    sycl_dnn.manual_seed(2)
    net = made(name, nn=nn, F=F, torch=torch_names)
    xs = [dpnp.asarray(x) for x in inputs(name)]
    net.eval()
    eager = tree.leaves(net(*xs))
    compiled = tree.leaves(sycl_dnn.compile(lambda net, xs: net(*xs))(net, xs))
    for a, b in zip(eager, compiled, strict=True):
        np.testing.assert_allclose(dpnp.asnumpy(a), dpnp.asnumpy(b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", TEXTS)
def test_source_matches_torch(name):
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    theirs = made(name, nn=torch.nn, F=torch.nn.functional, torch=torch)
    net = made(name, nn=nn, F=F, torch=torch_names)
    assert list(net.state_dict()) == list(theirs.state_dict())
    net.load_state_dict(theirs.state_dict())
    values = inputs(name)
    xs, args = [dpnp.asarray(x) for x in values], [torch.tensor(x) for x in values]
    actual, expected = tree.leaves(net(*xs)), _leaves(theirs(*args))
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(dpnp.asnumpy(a), b.detach(), rtol=1e-4, atol=1e-4)
    if not list(net.parameters()):
        return
    value = sum((v * v).sum() for v in _leaves(theirs(*args)) if v.is_floating_point())
    value.backward()
    grads = sycl_dnn.grad(lambda net, xs: total(net(*xs)))(net, xs)
    expected = {n: p.grad for n, p in theirs.named_parameters() if p.requires_grad}
    for name, gradient in grads.named_parameters():
        scale = max(1.0, float(expected[name].abs().max()))
        a = dpnp.asnumpy(gradient) / scale
        np.testing.assert_allclose(a, expected[name] / scale, rtol=1e-3, atol=1e-4, err_msg=name)
    for (name, a), b in zip(net.state_dict().items(), theirs.state_dict().values(), strict=True):
        np.testing.assert_allclose(dpnp.asnumpy(a), b, rtol=1e-4, atol=1e-5, err_msg=name)


def _leaves(value):
    """The tensors of nested results, in the order of ours: dicts by their keys."""
    if isinstance(value, dict):
        value = [value[k] for k in sorted(value)]
    if isinstance(value, (tuple, list)):
        return [v for item in value for v in _leaves(item)]
    return [value]


def test_parameters_have_torch_methods():
    net = nn.Linear(3, 2)
    weight = net.weight
    assert isinstance(weight, dpnp.ndarray)
    assert net.weight is weight
    assert weight is next(net.parameters()) is net.get_parameter("weight")
    assert (weight.dim(), weight.numel(), weight.size(), weight.size(0)) == (2, 6, (2, 3), 2)
    assert weight.data.fill_(2.0).float().view(-1).shape == (6,)
    np.testing.assert_array_equal(dpnp.asnumpy(net.state_dict()["weight"]), np.full((2, 3), 2.0))
    assert net.state_dict()["weight"] is weight
    assert weight.grad is None
    assert weight.requires_grad
    # Outside of __init__ names that differ mean what they mean in dpnp.
    assert weight.transpose(1, 0).shape == (3, 2)
    assert float(weight.var()) == 0.0
    assert isinstance(weight + 1.0, dpnp.ndarray)
    assert (1.0 - weight).dim() == (weight @ weight.T)[0:1].dim() == 2
    weight.requires_grad_(False)
    assert [n for n, _ in net.named_parameters(trainable=True)] == ["bias"]
    with pytest.raises(RuntimeError, match="only parameters of modules can be trained"):
        module_arrays.handed(F.ones(2)).requires_grad = True


def test_closures_over_handed_arrays_see_new_values():
    net, x = nn.Linear(3, 2, bias=False), dpnp.ones((1, 3), dtype="f4")
    step = sycl_dnn.value_and_grad(lambda x: F.sum(F.linear(x, net.weight)))
    for value in (1.0, 2.0):
        net.weight.fill_(value)
        assert float(step(x)[0]) == 6 * value
    net.load_state_dict({"weight": np.full((2, 3), 5.0, "f4")})
    assert float(step(x)[0]) == 30.0
    assert float(F.sum(F.linear(x, net.weight))) == 30.0


class Reader(nn.Module):
    """Reads parameter, buffer, plain attribute and input with methods of both libraries."""

    def __init__(self, read):
        super().__init__()
        self.read, self.plain = read, F.reshape(F.arange(6, dtype="float32"), (2, 3))
        self.weight = nn.Parameter(self.plain * 2)
        self.register_buffer("held", self.plain * 3)

    def forward(self, x):
        return [self.read(v) for v in (self.weight, self.held, self.plain, x)]


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (lambda v: v.std(1), lambda v: v.std(1, ddof=1)),
        (lambda v: v.repeat(2, 1), lambda v: np.tile(v, (2, 1))),
        (lambda v: v.max(1)[0], lambda v: v.max(1)),
        (lambda v: v.transpose(0, 1), lambda v: v.T),
        (lambda v: v.unsqueeze(0).view(3, -1), lambda v: v.reshape(3, 2)),
    ],
)
def test_captured_arrays_have_torch_methods_in_forward(read, expected):
    """The module or its input: dpnp's std has another divisor, its repeat another order."""
    net, values = Reader(read), np.arange(6.0).reshape(2, 3)
    x = dpnp.asarray(values * 4, dtype="f4")
    for made in (
        net(x),
        sycl_dnn.vjp(lambda x: net(x), x)[0],
        sycl_dnn.vjp(lambda net: net(x), net)[0],
        sycl_dnn.vjp(lambda y: nn.Sequential(net)(x) if y.ndim else y, x)[0],
    ):
        for factor, value in zip((2, 3, 1, 4), made, strict=True):
            np.testing.assert_allclose(dpnp.asnumpy(value), factor * expected(values), rtol=1e-6)


def test_a_module_in_two_places_is_listed_once_and_saved_twice():
    torch = pytest.importorskip("torch")

    def shared(library):
        layer = library.Linear(3, 3)
        return library.Sequential(layer, library.Tanh(), layer)

    theirs, net = shared(torch.nn), shared(nn)
    assert list(net.state_dict()) == list(theirs.state_dict())
    for method in ("named_parameters", "named_modules"):
        names = [n for n, _ in getattr(net, method)()]
        assert names == [n for n, _ in getattr(theirs, method)()]
    net.load_state_dict(theirs.state_dict())
    x = np.ones((2, 3), "f4")
    theirs(torch.tensor(x)).sum().backward()
    for transform in (lambda f: f, sycl_dnn.compile):
        grads = transform(sycl_dnn.grad(lambda net, x: F.sum(net(x))))(net, dpnp.asarray(x))
        for name, expected in theirs.named_parameters():
            actual = dpnp.asnumpy(dict(grads.named_parameters())[name])
            np.testing.assert_allclose(actual, expected.grad, rtol=1e-5, atol=1e-6)


def test_pretrained_rows_are_shared_and_checked():
    rows = F.randn(5, 3)
    layer = nn.Embedding.from_pretrained(rows, padding_idx=-1)
    assert repr(layer) == "Embedding(5, 3, padding_idx=4)"
    assert layer.state_dict()["weight"].get_array() is rows.get_array()
    assert not list(layer.named_parameters(trainable=True))
    with pytest.raises(ValueError, match="embeddings must have 2 axes, got shape"):
        nn.Embedding.from_pretrained(F.ones(3))
    bag = nn.EmbeddingBag.from_pretrained(rows, mode="sum", padding_idx=-1)
    assert not bag.weight.requires_grad
    assert bag.mode == "sum"
    assert bag.padding_idx == layer.padding_idx
    with pytest.raises(ValueError, match=r"EmbeddingBag.from_pretrained: .* got shape \(3,\)"):
        nn.EmbeddingBag.from_pretrained(F.ones(3))
    with pytest.raises(ValueError, match=r"the weight must have shape \(5, 4\), got \(5, 3\)"):
        nn.Embedding(5, 4, _weight=rows)


def test_pad_sequence_of_integers_and_wrong_use():
    pad = nn.utils.rnn.pad_sequence
    assert pad([F.arange(3), F.arange(1)], True, 7).tolist() == [[0, 1, 2], [0, 7, 7]]
    with pytest.raises(ValueError, match="at least one sequence"):
        pad([])
    with pytest.raises(ValueError, match="padding_side must be 'left' or 'right', got 'top'"):
        pad([F.ones(2)], padding_side="top")


def test_limits_of_dtypes():
    assert torch_names.finfo("float32").max == np.finfo("f4").max
    assert torch_names.iinfo(F.zeros(2).astype("int32").dtype).min == -(2**31)
    assert float(torch_names.finfo("bfloat16").eps) == 2**-7


#: What docs/pytorch.md lists as refused in a forward, and words of the message.
REFUSED = {
    **{name: (lambda x, name=name: getattr(x, name)(0), f"no attribute '{name}'")
       for name in ("unsqueeze_", "squeeze_", "t_")},
    **{name: (lambda x, name=name: getattr(F, name)(x, x), f"no attribute '{name}'")
       for name in ("concat", "clip", "multiply", "row_stack",
                    "as_tensor", "upsample", "fractional_max_pool2d", "Tensor")},
    "no_grad": (lambda x: F.no_grad(), "no attribute 'no_grad'"),
    "long": (lambda x: F.zeros(3, dtype=F.long), "no attribute 'long'"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_constructs_are_named(name):
    call, message = REFUSED[name]

    class Net(nn.Module):
        def forward(self, x):
            call(x)
            return x

    with pytest.raises((TypeError, AttributeError), match=message):
        Net()(F.ones(2, 3))


def test_words_and_keys_of_both_libraries():
    class Net(nn.Module):
        def forward(self, x):
            x = x.clone()
            x[0, 0] = np.log(np.float64(1.0))
            x[1] = np.arange(3, 6)
            swapped = x[..., (1, 0)]  # a tuple inside a key is a list of indices
            total = x.sum(dim=-1, keepdims=True)
            values, indices = x.max(dim=0, keepdims=True)
            return swapped, total, values, indices, torch_names.zeros(2, layout=x.layout)

    x = np.arange(6, dtype="f4").reshape(2, 3)
    results = [y.tolist() for y in Net()(dpnp.asarray(x))]
    assert results[:2] == [x[..., [1, 0]].tolist(), x.sum(-1, keepdims=True).tolist()]
    assert results[2:] == [x[1:].tolist(), [[1, 1, 1]], [0.0, 0.0]]


def test_classes_of_arrays_name_dtypes():
    class Net(nn.Module):
        def forward(self, x):
            assert isinstance(x, torch_names.Tensor)
            assert x.type() == "torch.FloatTensor"
            mask = torch_names.tril(torch_names.ones(2, 2)).type(torch_names.ByteTensor)
            assert mask.type() == "torch.ByteTensor"
            return mask.to(torch_names.LongTensor), x.long().type(x.dtype)

    mask, y = Net()(F.ones(2))
    assert (mask.dtype, y.dtype, mask.tolist()) == ("int64", "float32", [[1, 0], [1, 1]])
    assert isinstance(mask, torch_names.LongTensor)
    assert not isinstance(mask, torch_names.FloatTensor)
    assert torch_names.DoubleTensor([1.0]).dtype == "float64"


class WritesWithoutGradients(nn.Module):
    """Writes to values, a part, a view and a parameter in blocks without gradients."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(F.full((3,), 2.0))

    def forward(self, x):
        with torch_names.no_grad():
            self.weight.mul_(2)
        y = x * 3 * self.weight
        with torch_names.no_grad():
            y.mul_(2)
            y[0] = 7.0
        z = y * 2
        with torch_names.no_grad():
            part = z[1:]
            part.add_(1)
        return (z * z).sum()


def test_writes_in_blocks_without_gradients_keep_the_history():
    # z = 2 * y, and gradients pass writes: dz/dx = 6 * weight, dz/dweight = 6 * x.
    z = np.array([14.0, 2 * 2 * 3 * 3 * 4 + 1, 2 * 2 * 3 * 4 * 4 + 1])
    for transform in (lambda f: f, sycl_dnn.compile):
        net, x = WritesWithoutGradients(), F.tensor([2.0, 3.0, 4.0])
        step = transform(sycl_dnn.value_and_grad(lambda net, x: net(x), (0, 1)))
        value, (grads, dx) = step(net, x)
        assert float(value) == (z * z).sum()
        assert dx.tolist() == (2 * z * 6 * 4).tolist()
        assert grads.weight.tolist() == (2 * z * 6 * np.array([2.0, 3.0, 4.0])).tolist()
        assert net.weight.tolist() == [4.0, 4.0, 4.0]


def test_differentiated_arguments_may_be_written_in_blocks_without_gradients():
    def loss(x):
        with torch_names.no_grad():
            x += 1
        return (x * x).sum()

    x = F.tensor([1.0, 2.0])
    assert sycl_dnn.grad(loss)(x).tolist() == [4.0, 6.0]
    assert x.tolist() == [2.0, 3.0]


def test_numbers_of_arrays_of_one_element():
    class Net(nn.Module):
        def forward(self, x):
            if x[:1] > 0 and x[:1, None]:
                return x * float(x[1:2]) * int(x[2:3])
            return x

    assert Net()(F.tensor([1.0, 2.0, 3.0])).tolist() == [6.0, 12.0, 18.0]
    with pytest.raises((TypeError, ValueError), match="more than one element|only"):
        sycl_dnn.vjp(lambda x: x if x > 0 else -x, F.ones(2))
