# SPDX-License-Identifier: Apache-2.0
"""``torch_names.distributions``, compared with formulas and with the installed PyTorch."""

import math

import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn
from sycl_dnn.nn.torch_names import distributions as D

RNG = np.random.default_rng(3)
LOC, SCALE = RNG.standard_normal((2, 3)).astype("f4"), RNG.uniform(0.5, 2, (2, 3)).astype("f4")
PROBS = RNG.uniform(0.1, 0.9, (2, 3)).astype("f4")
TRIL = np.stack([np.tril(RNG.standard_normal((3, 3))) + 3 * np.eye(3) for _ in range(2)]).astype(
    "f4"
)
COVARIANCE = TRIL @ TRIL.transpose(0, 2, 1)
POSITIVE = RNG.uniform(0.1, 3, (4, 2, 3)).astype("f4")
BITS = RNG.integers(0, 2, (4, 2, 3)).astype("f4")
#: By name: how it is made by a module of distributions and a function for arrays, and values.
MADE = {
    "normal": (lambda d, a: d.Normal(a(LOC), a(SCALE)), POSITIVE),
    "normal of numbers": (lambda d, a: d.Normal(0.5, a(SCALE)), POSITIVE),
    "log-normal": (lambda d, a: d.LogNormal(a(LOC), a(SCALE)), POSITIVE),
    "laplace": (lambda d, a: d.Laplace(a(LOC), a(SCALE)), POSITIVE),
    "uniform": (lambda d, a: d.Uniform(a(LOC - 3), a(LOC + SCALE * 9)), POSITIVE),
    "exponential": (lambda d, a: d.Exponential(a(SCALE)), POSITIVE),
    "bernoulli": (lambda d, a: d.Bernoulli(a(PROBS)), BITS),
    "bernoulli of logits": (lambda d, a: d.Bernoulli(logits=a(LOC)), BITS),
    "categorical": (lambda d, a: d.Categorical(a(PROBS)), np.array([[0, 2], [1, 1], [2, 0]])),
    "categorical of logits": (lambda d, a: d.Categorical(logits=a(LOC)), np.array([1, 2])),
    "one-hot": (lambda d, a: d.OneHotCategorical(logits=a(LOC)), np.eye(3, dtype="f4")[[[0, 2]]]),
    "independent": (lambda d, a: d.Independent(d.Normal(a(LOC), a(SCALE)), 1), POSITIVE),
    "multivariate": (lambda d, a: d.MultivariateNormal(a(LOC), a(COVARIANCE)), POSITIVE),
    "multivariate of a factor": (
        lambda d, a: d.MultivariateNormal(a(LOC), scale_tril=a(TRIL)), POSITIVE
    ),
    "gamma": (lambda d, a: d.Gamma(a(SCALE * 3), a(SCALE)), POSITIVE),
    "beta": (lambda d, a: d.Beta(a(SCALE), a(SCALE + 1)), POSITIVE / 4),
    "poisson": (lambda d, a: d.Poisson(a(SCALE * 4)), np.floor(POSITIVE * 3)),
    "geometric": (lambda d, a: d.Geometric(a(PROBS)), np.floor(POSITIVE * 3)),
    "geometric of logits": (lambda d, a: d.Geometric(logits=a(LOC)), np.floor(POSITIVE * 3)),
    "mixture": (
        lambda d, a: d.MixtureSameFamily(
            d.Categorical(a(PROBS)), d.Normal(a(LOC), a(SCALE))
        ), POSITIVE[:, :, 0]
    ),
    "mixture of vectors": (
        lambda d, a: d.MixtureSameFamily(
            d.Categorical(a(PROBS[0, :2])), d.Independent(d.Normal(a(LOC), a(SCALE)), 1)
        ), POSITIVE[:, 0]
    ),
    "tanh of normal": (
        lambda d, a: d.TransformedDistribution(
            d.Normal(a(LOC), a(SCALE)), [d.TanhTransform(cache_size=1)]
        ), POSITIVE / 4
    ),
    "flow": (
        lambda d, a: d.TransformedDistribution(
            d.Independent(d.Normal(a(LOC), a(SCALE)), 1),
            [d.AffineTransform(a(LOC), a(SCALE)), d.SigmoidTransform().inv,
             d.ComposeTransform([d.SoftplusTransform(), d.PowerTransform(2.0).inv])][::2],
        ), POSITIVE
    ),
    "logistic": (
        lambda d, a: d.TransformedDistribution(
            d.Uniform(a(0 * LOC), a(0 * LOC + 1)),
            [d.SigmoidTransform().inv, d.AffineTransform(a(LOC), a(SCALE))],
        ), POSITIVE
    ),
    "events by a transform": (
        lambda d, a: d.TransformedDistribution(
            d.Normal(a(LOC), a(SCALE)), d.AffineTransform(a(LOC), a(SCALE), event_dim=1)
        ), POSITIVE
    ),
    "exp": (
        lambda d, a: d.TransformedDistribution(d.Normal(a(LOC), a(SCALE)), d.ExpTransform()),
        POSITIVE,
    ),
}  # fmt: skip
#: Images of other distributions, which have no moments in closed form.
IMAGES = [name for name in MADE if name.split()[0] in ("tanh", "flow", "logistic", "events", "exp")]
#: Without bounds or a support of their own, which samples of another one leave.
PAIRS = list(MADE)[: list(MADE).index("gamma")]
PAIRS.remove("uniform")


def _near(actual, expected, tolerance=2e-5):
    np.testing.assert_allclose(
        np.asarray(sycl_dnn.asnumpy(actual), "f8"), np.asarray(expected, "f8"), tolerance, tolerance
    )


def _shifted(name, d, a):
    """Return a second distribution of the same kind."""
    make, _ = MADE[name]
    return make(d, lambda v: a((v * 0.875).astype(v.dtype)))


@pytest.mark.parametrize("name", MADE)
def test_as_torch(name):
    torch = pytest.importorskip("torch")
    make, values = MADE[name]
    own, theirs = make(D, F.asarray), make(torch.distributions, torch.tensor)
    assert own.batch_shape == tuple(theirs.batch_shape)
    assert own.event_shape == tuple(theirs.event_shape)
    assert own.has_rsample == theirs.has_rsample or name in ("gamma", "beta")
    _near(own.log_prob(F.asarray(values)), theirs.log_prob(torch.tensor(values)))
    if name not in IMAGES and not name.startswith(("mixture", "poisson")):
        _near(own.entropy(), theirs.entropy(), 1e-4)
    for statistic in () if name in IMAGES else ("mean", "variance", "mode", "stddev"):
        if statistic == "mode" and name.startswith(("categorical", "uniform", "mixture", "beta")):
            continue
        _near(getattr(own, statistic), getattr(theirs, statistic))
    for sizes in ((), (5,), (2, 4)):
        assert own.sample(sizes).shape == tuple(theirs.sample(sizes).shape)
    larger = (4, *own.batch_shape)
    value = own.expand(larger).log_prob(F.asarray(values[:1]))
    _near(value, theirs.expand(larger).log_prob(torch.tensor(values[:1])))
    if name in PAIRS:
        other = _shifted(name, D, F.asarray), _shifted(name, torch.distributions, torch.tensor)
        divergence = torch.distributions.kl_divergence(theirs, other[1])
        _near(D.kl_divergence(own, other[0]), divergence, 1e-4)


def test_densities_and_entropies():
    x, normal = F.asarray(POSITIVE), D.Normal(F.asarray(LOC), F.asarray(SCALE))
    density = np.exp(-(((POSITIVE - LOC) / SCALE) ** 2) / 2) / (SCALE * math.sqrt(2 * math.pi))
    _near(normal.log_prob(x), np.log(density))
    _near(normal.entropy(), np.log(SCALE * math.sqrt(2 * math.pi * math.e)))
    _near(normal.icdf(normal.cdf(F.asarray(LOC + SCALE / 2))), LOC + SCALE / 2, 1e-4)
    offset = POSITIVE - LOC
    squares = np.einsum("abi,bij,abj->ab", offset, np.linalg.inv(COVARIANCE), offset)
    constant = 3 * math.log(2 * math.pi) + np.log(np.linalg.det(COVARIANCE))
    vectors = D.MultivariateNormal(F.asarray(LOC), F.asarray(COVARIANCE))
    _near(vectors.log_prob(x), -(squares + constant) / 2, 1e-4)
    inverse = F.asarray(np.linalg.inv(COVARIANCE))
    of_precision = D.MultivariateNormal(F.asarray(LOC), precision_matrix=inverse)
    _near(of_precision.log_prob(x), -(squares + constant) / 2, 1e-3)
    categories = D.Categorical(F.asarray(PROBS))
    p = PROBS / PROBS.sum(1, keepdims=True)
    _near(categories.entropy(), -(p * np.log(p)).sum(1))
    _near(categories.log_prob(F.asarray(np.array([2, 0]))), np.log(p[[0, 1], [2, 0]]))
    _near(D.Bernoulli(F.asarray(PROBS)).log_prob(1.0), np.log(PROBS))


@pytest.mark.parametrize("name", MADE)
def test_moments_of_samples(name):
    own = MADE[name][0](D, F.asarray)
    sycl_dnn.manual_seed(5)
    samples = np.asarray(sycl_dnn.asnumpy(own.sample((40_000,))), "f8")
    if name.startswith("categorical"):
        shares = np.stack([(samples == k).mean(0) for k in range(3)], -1)
        _near(own.probs, shares, 0.02)
        return
    if name in IMAGES:
        torch = pytest.importorskip("torch")
        torch.manual_seed(5)
        theirs = MADE[name][0](torch.distributions, torch.tensor).sample((40_000,)).double().numpy()
        for share in (0.1, 0.5, 0.9):
            spread = np.quantile(theirs, 0.9, 0) - np.quantile(theirs, 0.1, 0)
            error = np.quantile(samples, share, 0) - np.quantile(theirs, share, 0)
            assert (np.abs(error) < 0.05 * spread).all()
        return
    mean, variance = sycl_dnn.asnumpy((own.mean, own.variance))
    error = 6 * np.sqrt(variance / 40_000)
    assert (np.abs(samples.mean(0) - mean) < error).all()
    if name != "log-normal":  # whose fourth moment is huge
        np.testing.assert_allclose(samples.var(0), variance, rtol=0.15)


def test_gradients_reach_parameters_in_modules_and_compiled():
    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean, self.log_std = nn.Linear(4, 2), nn.Parameter(F.zeros(2))

        def forward(self, x, action):
            normal = D.Normal(self.mean(x), self.log_std.exp())
            prior = D.Normal(F.zeros_like(normal.loc), F.ones_like(normal.scale))
            sample = normal.rsample()
            loss = -normal.log_prob(action).sum(-1).mean() + D.kl_divergence(normal, prior).mean()
            return loss + 0.1 * normal.entropy().sum() + 0 * sample.sum()

    net, x, action = Policy(), F.randn(5, 4), F.randn(5, 2)
    step = sycl_dnn.value_and_grad(lambda net: net(x, action))
    value, gradients = step(net)
    again, compiled = sycl_dnn.compile(step)(net)
    _near(again, sycl_dnn.asnumpy(value))
    for a, b in zip(sycl_dnn.tree.leaves(compiled), sycl_dnn.tree.leaves(gradients), strict=True):
        _near(a, sycl_dnn.asnumpy(b))
    nudged = sycl_dnn.tree.map(lambda p, g: p - 1e-3 * g, net, gradients)
    assert float(nudged(x, action)) < float(value)


def test_squashed_policies_train_where_actions_are_saturated():
    """As SAC: the density of a sample needs the sample before ``tanh``, which is kept."""

    def loss(loc):
        policy = D.TransformedDistribution(D.Normal(loc, 1.0), [D.TanhTransform(cache_size=1)])
        action = policy.rsample()
        return policy.log_prob(action).sum() - action.sum()

    for step in (sycl_dnn.value_and_grad(loss), sycl_dnn.compile(sycl_dnn.value_and_grad(loss))):
        value, gradient = step(F.full((3,), 30.0))
        assert np.isfinite(float(value))
        _near(gradient, np.full(3, 2.0), 1e-4)  # -d/dx log(1 - tanh(x)**2) where tanh(x) is 1


def test_transforms_invert_and_have_jacobians():
    x = F.asarray(POSITIVE[0, 0])
    for transform in (
        D.ExpTransform(), D.TanhTransform(), D.SigmoidTransform(), D.SoftplusTransform(),
        D.PowerTransform(1.5), D.AffineTransform(1.0, -2.0),
        D.ComposeTransform([D.AffineTransform(0.1, 0.5), D.TanhTransform()]),
    ):  # fmt: skip
        for t, point in ((transform, x), (transform.inv, transform(x))):
            y = t(point)
            _near(t.inv(y), sycl_dnn.asnumpy(point), 1e-4)
            slopes = sycl_dnn.grad(lambda v, t=t: F.sum(t(v)))(point)
            _near(t.log_abs_det_jacobian(point, y), np.log(np.abs(sycl_dnn.asnumpy(slopes))), 1e-3)
        assert transform.inv.inv is transform


def test_parameters_of_transforms_enlarge_the_batch_of_the_base():
    normal, loc = D.Normal(0.0, 1.0), F.asarray(np.array([1, 2, 3], "f4"))
    images = D.TransformedDistribution(normal, D.AffineTransform(loc, 2.0))
    assert images.batch_shape == (3,)
    drawn = sycl_dnn.asnumpy(images.sample((2,)))
    assert drawn.shape == (2, 3)
    assert len(set(((drawn - [1, 2, 3]) / 2).ravel().round(4))) == 6
    _near(images.log_prob(loc), np.full(3, -0.5 * math.log(2 * math.pi) - math.log(2)))
    through = [D.AffineTransform(loc, 1.0).inv, D.ComposeTransform([D.PowerTransform(loc)])]
    for transforms in (through[:1], through[1:], through):
        assert D.TransformedDistribution(normal, transforms).sample().shape == (3,)
    with pytest.raises(ValueError, match=r"must have a base with as many axes.*shape \(\)"):
        D.TransformedDistribution(normal, D.AffineTransform(0.0, 2.0, event_dim=1))


@pytest.mark.filterwarnings("ignore::sycl_dnn.FallbackWarning")
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_bounds_are_those_of_the_dtype(dtype):
    limits, sigmoid = np.finfo(dtype), D.SigmoidTransform()
    y = sycl_dnn.asnumpy(sigmoid(F.asarray(np.array([-800.0, 800.0], dtype))))
    assert y.tolist() == [limits.tiny, 1 - limits.eps]
    x = sycl_dnn.asnumpy(sigmoid.inv(F.asarray(np.array([1e-6, 0.5], dtype))))
    assert x[0] < -13.8 or dtype == "float16"
    small = F.full((1000,), 1e-2, dtype=dtype)
    for distribution in (D.Gamma(small, 1.0), D.Beta(small, small)):
        drawn = distribution.sample()
        assert str(drawn.dtype) == dtype
        assert sycl_dnn.asnumpy(F.isfinite(distribution.log_prob(drawn))).all()
    assert sycl_dnn.asnumpy(F.isfinite(D.Geometric(small).sample())).all()


def test_integers_are_values_of_counts():
    rate = F.asarray(np.array([2.0, 3.0], "f4"))
    counts = F.asarray(np.array([0, 1]))
    _near(D.Poisson(rate).log_prob(counts), [-2.0, math.log(3.0) - 3.0])


def test_entropies_of_nearly_certain_trials_vanish():
    entropy = D.Geometric(logits=F.asarray(np.array([20.0, 30.0], "f4"))).entropy()
    assert (sycl_dnn.asnumpy(entropy) < [5e-8, 3e-12]).all()


def test_counts_are_drawn_in_differentiated_functions_and_refused_in_compiled_ones():
    def loss(rate):
        return D.Poisson(rate).sample((100,)).mean() * rate.sum()

    assert float(sycl_dnn.grad(loss)(F.tensor([50.0]))[0]) == pytest.approx(50, abs=5)
    with pytest.raises(TypeError, match="compile"):
        sycl_dnn.compile(loss)(F.tensor([50.0]))


def test_samples_have_no_gradient_and_rsamples_do():
    def loss(loc, draw):
        return getattr(D.Normal(loc, 1.0), draw)().sum()

    loc = F.asarray(LOC)
    assert not sycl_dnn.grad(lambda v: loss(v, "sample"))(loc).any()
    assert (sycl_dnn.grad(lambda v: loss(v, "rsample"))(loc) == 1).all()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: D.Bernoulli(), ValueError, "Bernoulli: either probs or logits"),
        (lambda: D.Categorical(F.ones(2), F.ones(2)), ValueError, "Categorical: either"),
        (lambda: D.Categorical(F.tensor(1.0)), ValueError, "at least one axis"),
        (lambda: D.Bernoulli(F.ones(2) / 2).rsample(), NotImplementedError, "there is no rsample"),
        (lambda: D.Independent(D.Normal(F.ones(2), 1.0), 2), ValueError, "must be 0 to 1, got 2"),
        (lambda: D.MultivariateNormal(F.ones(2)), ValueError, "exactly one of"),
        (lambda: D.Normal(F.tensor([1]), 2), TypeError, "must be floating-point, got int64"),
        (lambda: D.kl_divergence(D.Normal(0.0, 1.0), D.Laplace(0.0, 1.0)), NotImplementedError,
         "none of Normal and Laplace"),
        (lambda: D.Wishart, AttributeError, "'Wishart' is not among AffineTransform, Bernoulli"),
        (lambda: D.Gamma(F.ones(2), 1.0).rsample(), NotImplementedError, "there is no rsample"),
        (lambda: D.MixtureSameFamily(D.Categorical(F.ones(2)), D.Normal(F.ones(3), 1.0)),
         ValueError, r"must have 2 along the last axis of the batch, got batch_shape \(3,\)"),
    ],
)  # fmt: skip
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()
