# SPDX-License-Identifier: Apache-2.0
import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.on_device import to_numpy

import sycl_dnn
from sycl_dnn import functional as F

#: name: shape of the input, layout. Large ones are laid out differently from small ones.
_SHAPES = {
    "vectors": ((6, 5),),
    "rows": ((4, 7, 9),),
    "images": ((2, 5, 7, 6),),
    "16-channels": ((2, 16, 5, 5),),
    "volumes": ((2, 3, 3, 4, 5),),
    "rank-6": ((2, 3, 2, 2, 3, 2),),
    "channels-last": ((2, 16, 5, 3), "channels_last"),
    "odd-channels-last": ((2, 5, 7, 6), "channels_last"),
    "strided": ((2, 5, 7, 6), "strided"),
    "reversed": ((3, 5, 4), "reversed"),
    "transposed": ((3, 5, 4, 2), "transposed"),
    "one-channel": ((5, 1, 3),),
    "one-position": ((9, 4, 1, 1),),
    "empty": ((0, 5, 3),),
    "large": ((3, 16, 31, 29),),
    "large-last": ((3, 16, 31, 29), "channels_last"),
    "large-odd": ((4, 17, 500),),
    "large-odd-last": ((2, 5, 67, 61), "channels_last"),
    "large-vectors": ((801, 47),),
    "large-few-positions": ((201, 19, 3, 3),),
    "large-reversed": ((3, 11, 33, 37), "reversed"),
    # A length with a remainder of 15, fewer rows than parts, channels in vectors of 8 and of 16.
    "24-channels": ((3, 24, 9, 7),),
    "24-channels-last": ((3, 24, 9, 7), "channels_last"),
    "8-channels-last": ((5, 8, 4), "channels_last"),
    "48-channels-last": ((2, 48, 3, 3, 3), "channels_last"),
}


def _cases():
    for name, (shape, *layout) in _SHAPES.items():
        channels = shape[1:2]
        x = Spec(shape, layout=layout[0] if layout else "plain")
        fixed = {"dtype": "float32", "differentiable": False}
        stats = Spec(channels, **fixed), Spec(channels, "positive", **fixed)
        affine = Spec(channels, "positive"), Spec(channels)
        for mode, arguments in {
            "training": (x, None, None, *affine, True),
            "running": (x, *stats, *affine, True, 0.3),
            "evaluated": (x, *stats, *affine),
            "bare": (x, None, None, None, None, True, 0.1, 0.1),
            "training-weight": (x, None, None, affine[0], None, True),
            "training-bias": (x, None, None, None, affine[1], True),
            "weight": (x, *stats, affine[0]),
            "bias": (x, *stats, None, affine[1]),
        }.items():
            # Gradients are sums over many values.
            full = f"{name}-{mode}"
            yield Case(full, F.batch_norm, arguments, torch="batch_norm", slack=5)


CASES = list(_cases())
_NARROW = ("vectors", "rows", "16-channels", "channels-last", "large", "large-odd", "large-vectors",
           "24-channels", "24-channels-last")  # fmt: skip
CASES += [
    c.as_dtype("bfloat16")
    for c in CASES
    if c.name.rpartition("-")[0] in _NARROW and c.name.endswith(("training", "evaluated"))
]
CASES += [c.as_dtype("float16") for c in CASES if c.name == "24-channels-last-training"]
TestCases = checked(CASES, sweep=12)


def _made(queue, *shape, dtype="f4"):
    values = np.random.default_rng(3).uniform(0.5, 2.0, shape)
    return dpnp.asarray(values, dtype=dtype, sycl_queue=queue)


def _normalized(x, mean=None, var=None):
    axes = (0, *range(2, x.ndim))
    mean, var = (x.mean(axes), x.var(axes)) if mean is None else (mean, var)
    view = (-1,) + (1,) * (x.ndim - 2)
    return (x - mean.reshape(view)) / np.sqrt(var.reshape(view) + 1e-5)


def _expected(x, mean, var, momentum, axes=(0, 2)):
    count = x.size // x.shape[1]
    batch = x.mean(axis=axes), x.var(axis=axes) * count / (count - 1)
    return [(1 - momentum) * o + momentum * b for o, b in zip((mean, var), batch, strict=True)]


@pytest.mark.parametrize("momentum", [0.1, 1.0, 0.0])
def test_running_statistics_after_each_call(momentum, queue):
    x, mean, var = _made(queue, 4, 5, 9), _made(queue, 5), _made(queue, 5)
    truth = [to_numpy(a) for a in (mean, var)]
    for step in range(4):
        F.batch_norm(x * step, mean, var, training=True, momentum=momentum)
        # Read without a wait: dpnp's order holds.
        actual = [to_numpy(mean + 0), to_numpy(var + 0)]
        truth = _expected(to_numpy(x * step), *truth, momentum)
        for a, b in zip(actual, truth, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5)


def test_running_statistics_in_a_view(queue):
    """A strided view of one array holds the mean: only its elements are written."""
    x, both, var = (
        _made(queue, 4, 5, 9),
        dpnp.zeros((5, 2), sycl_queue=queue, dtype="f4"),
        _made(queue, 5),
    )
    F.batch_norm(x, both[:, 1], var, training=True, momentum=1.0)
    np.testing.assert_allclose(to_numpy(both)[:, 1], to_numpy(x).mean(axis=(0, 2)), rtol=1e-5)
    assert not to_numpy(both)[:, 0].any()


def test_running_statistics_in_bfloat16(queue):
    x, var = _made(queue, 4, 5, 9), sycl_dnn.asarray(_made(queue, 5), "bfloat16")
    mean = sycl_dnn.asarray(dpnp.zeros(5, dtype="f4", sycl_queue=queue), "bfloat16")
    F.batch_norm(x, mean, var, training=True, momentum=0.5)
    np.testing.assert_allclose(to_numpy(mean), to_numpy(x).mean(axis=(0, 2)) / 2, rtol=8e-3)


def test_steps_read_before_and_after_an_update(queue):
    """Within one traced function, a use before the update reads the old values."""
    x, mean, var = _made(queue, 4, 5, 9), _made(queue, 5), _made(queue, 5)
    old = to_numpy(mean), to_numpy(var)

    def both(x):
        before = F.batch_norm(x, mean, var)
        F.batch_norm(x, mean, var, training=True, momentum=1.0)
        return before, F.batch_norm(x, mean, var)

    plan = sycl_dnn.plan(both, x)
    before, after = plan()
    np.testing.assert_allclose(to_numpy(before), _normalized(to_numpy(x), *old), atol=1e-5)
    new = to_numpy(mean), to_numpy(var)
    np.testing.assert_allclose(new, _expected(to_numpy(x), *old, 1.0), rtol=1e-5)
    np.testing.assert_allclose(to_numpy(after), _normalized(to_numpy(x), *new), atol=1e-5)


def test_gradient_updates_once(queue):
    x, mean, var = _made(queue, 4, 5, 9), _made(queue, 5), _made(queue, 5)
    truth = _expected(to_numpy(x), to_numpy(mean), to_numpy(var), 0.1)
    y, pullback = sycl_dnn.vjp(lambda v: F.batch_norm(v, mean, var, training=True), x)
    for _ in range(2):
        pullback(y)
    np.testing.assert_allclose(to_numpy(mean), truth[0], rtol=1e-5)


def test_gradients_of_a_use_before_an_update_read_the_old_statistics(queue):
    x, weight = _made(queue, 4, 5, 9), _made(queue, 5)
    mean, var = _made(queue, 5), dpnp.exp(_made(queue, 5))

    def both(x, weight, statistics):
        y = F.batch_norm(x, mean, var, weight)
        return F.batch_norm(y * y, *statistics, training=True)

    apart = [dpnp.copy(mean), dpnp.copy(var)]
    y, pullback = sycl_dnn.vjp(lambda x, w: both(x, w, apart), x, weight)
    expected = [y, *pullback(x)]
    y, pullback = sycl_dnn.vjp(lambda x, w: both(x, w, (mean, var)), x, weight)
    for actual, desired in zip([y, *pullback(x), mean, var], [*expected, *apart], strict=True):
        np.testing.assert_allclose(to_numpy(actual), to_numpy(desired), rtol=1e-5, atol=1e-6)

    last = [dpnp.copy(a) for a in apart]
    both(x, weight, last)
    y, pullback = sycl_dnn.vjp(lambda x: F.batch_norm(both(x, weight, apart), *last), x)
    expected = [y, *pullback(x)]
    y, pullback = sycl_dnn.vjp(lambda x: F.batch_norm(both(x, weight, (mean, var)), mean, var), x)
    mean[...] = 0.0
    for actual, desired in zip([y, *pullback(x)], expected, strict=True):
        np.testing.assert_allclose(to_numpy(actual), to_numpy(desired), rtol=1e-5, atol=1e-6)


def test_invalid_running_statistics_are_refused(queue):
    x, mean, var = _made(queue, 4, 5, 9), _made(queue, 5), _made(queue, 5)
    frozen = sycl_dnn.freeze(mean)
    with pytest.raises(ValueError, match="batch_norm: running_mean must be an array of the caller"):
        F.batch_norm(x, frozen, var, training=True)
    with pytest.raises(ValueError, match="batch_norm: running_mean must be writable"):
        F.batch_norm(x, frozen.data, var, training=True)
    with pytest.raises(ValueError, match="batch_norm: running_mean must be .* positive strides"):
        F.batch_norm(x, mean[::-1], var, training=True)
    F.batch_norm(x, frozen, sycl_dnn.freeze(var))
