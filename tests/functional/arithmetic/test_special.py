# SPDX-License-Identifier: Apache-2.0
"""Special functions."""

import dpnp
import numpy as np
import pytest
from functional.case import Spec
from functional.checks import checked
from functional.named import of_words
from scipy import special

import sycl_dnn
from sycl_dnn import functional as F

X, ROW, P = Spec((3, 4)), Spec((4,)), Spec((3, 4), "positive")


CASES = [
    of_words("lgamma", P), of_words("digamma", P), of_words("erfinv", Spec((3, 4), "unit")),
    *(of_words(name, X) for name in ("sinc", "frac", "deg2rad", "rad2deg")),
    *(of_words(name, X, ROW) for name in ("fmax", "fmin", "hypot", "copysign", "logaddexp2")),
    of_words("xlogy", X, P), of_words("lgamma", P, dtype="bfloat16"),
    of_words("hypot", X, X, dtype="bfloat16"),
    of_words("xlogy", X, P, dtype="bfloat16"),
]  # fmt: skip
TestCases = checked(CASES, sweep=2, may_be_slow=True)


#: By name: SciPy's function, bounds of the arguments, and the error in units in the last place.
ERRORS = {
    "lgamma": (special.gammaln, (0.01, 50), 4), "digamma": (special.digamma, (0.01, 50), 4),
    "erfinv": (special.erfinv, (-0.9999, 0.9999), 5), "sinc": (np.sinc, (-0.7, 0.7), 8),
}  # fmt: skip
#: By name: the reference, and the error of float32 in units in the last place.
ERRORS_OF_FLOAT32 = {
    "asin": (np.arcsin, 0.7), "atan": (np.arctan, 1.1), "erf": (special.erf, 1.0),
    "erfinv": (special.erfinv, 1.1), "atan2": (np.arctan2, 1.1), "hypot": (np.hypot, 0.8),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ERRORS)
def test_errors(name, dtype, queue):
    reference, bounds, limit = ERRORS[name]
    x = np.random.default_rng(0).uniform(*bounds, 10000).astype(dtype)
    exact = reference(x.astype(np.longdouble if name == "sinc" else "f8"))
    found = getattr(F, name)(dpnp.asarray(x, sycl_queue=queue)).asnumpy()
    # Near the roots of lgamma the error is that of numbers near 1.
    scale = np.spacing(np.maximum(np.abs(exact), 1 if name == "lgamma" else 0).astype(dtype))
    assert np.max(np.abs(found - exact) / scale) <= limit


@pytest.mark.parametrize("name", ERRORS_OF_FLOAT32)
def test_errors_in_all_binades(name, queue):
    reference, limit = ERRORS_OF_FLOAT32[name]
    rng = np.random.default_rng(1)
    exponents = rng.uniform(-149, 0 if name in ("asin", "erfinv") else 128, (2, 2, 40000))
    x, y = (2.0**exponents * rng.choice([-1, 1], exponents.shape)).astype("f4")
    uniform = rng.uniform(-1, 1, (2, 40000)).astype("f4")
    x[0], y[0] = uniform if name in ("asin", "erfinv") else uniform * 4
    with np.errstate(over="ignore"):
        y[1, ::2] = x[1, ::2] * y[0, ::2]  # numbers of similar sizes
    # Close to 1, where the inverse functions are steep.
    x[1, 1::8] = np.sign(x[1, 1::8]) * (1 - 2.0 ** rng.uniform(-24, 0, 5000))
    special_values = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, 3.4e38], "f4")
    numbers = [np.append(x, np.repeat(special_values, 9)), np.append(y, np.tile(special_values, 9))]
    numbers = numbers[: 2 if name in ("atan2", "hypot") else 1]
    with np.errstate(all="ignore"):
        exact = reference(*[v.astype("f8") for v in numbers])
        nearest = exact.astype("f4")
    found = getattr(F, name)(*[dpnp.asarray(v, sycl_queue=queue) for v in numbers]).asnumpy()
    finite = np.isfinite(nearest)
    np.testing.assert_array_equal(found[~finite], nearest[~finite])
    errors = np.abs(found[finite] - exact[finite]) / np.spacing(np.abs(nearest[finite]))
    assert np.max(errors) <= limit
    is_zero, signs = exact == 0, numbers[0] if name == "erfinv" else exact  # SciPy drops the sign
    np.testing.assert_array_equal(np.signbit(found[is_zero]), np.signbit(signs[is_zero]))


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_errors_of_sine_and_cosine(name, queue):
    rng = np.random.default_rng(2)
    near_roots = (rng.integers(0, 600000, 40000) * (np.pi / 2)).astype("f4")
    parts = [near_roots, rng.uniform(-10, 10, 40000), 2.0 ** rng.uniform(-149, 20, 40000)]
    far = 10 ** rng.uniform(6, 38.5, 10_000)
    parts += [far, -far]
    large = np.array([-0.0, 3e6, -1e10, 3.4e38, np.inf, np.nan])
    x = np.concatenate([*parts, large]).astype("f4")
    with np.errstate(invalid="ignore"):
        exact = getattr(np, name)(x.astype(np.longdouble)).astype("f8")
    found = getattr(F, name)(dpnp.asarray(x, sycl_queue=queue)).asnumpy()
    scale = np.spacing(np.abs(exact).astype("f4"))
    errors = np.abs(found - exact) / scale
    assert np.max(errors[np.isfinite(x)]) <= 0.85
    assert np.isnan(found[-2:]).all()
    assert np.signbit(found[-6]) == (name == "sin")


def test_closeness_is_a_python_value(queue):
    x = dpnp.asarray([1.0, np.nan], dtype="f4", sycl_queue=queue)
    assert F.allclose(x, x) is False
    assert F.allclose(x, x * (1 + 1e-6), equal_nan=True) is True
    assert sycl_dnn.vjp(lambda x: x * 2 if F.allclose(x, x, equal_nan=True) else x, x)[0][0] == 2
    with pytest.raises(TypeError, match="allclose: input must be an array with values"):
        sycl_dnn.compile(lambda x: x if F.allclose(x, x) else -x)(x)


def test_errors_of_lgamma_above_minus_2_and_poles(queue):
    rng = np.random.default_rng(2)
    x = np.append(rng.uniform(-2, 5, 40000), 2.0 ** rng.uniform(-149, 120, 10000)).astype("f4")
    exact = special.gammaln(x.astype("f8"))
    found = F.lgamma(dpnp.asarray(x, sycl_queue=queue)).asnumpy()
    assert np.max(np.abs(found - exact) / np.spacing(np.abs(exact).astype("f4"))) <= 3.5
    poles = np.array([0.0, -0.0, -1, -2, -1e30, np.inf, -np.inf, 3e38, np.nan, 1, 2], "f4")
    expected = [*[np.inf] * 8, np.nan, 0, 0]
    found = F.lgamma(dpnp.asarray(poles, sycl_queue=queue)).asnumpy()
    np.testing.assert_array_equal(found, expected)
    x = rng.uniform(-60, -2, 40000).astype("f4")
    found = F.lgamma(dpnp.asarray(x, sycl_queue=queue)).asnumpy()
    np.testing.assert_allclose(found, special.gammaln(x.astype("f8")), rtol=4e-7, atol=3e-6)
