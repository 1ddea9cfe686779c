# SPDX-License-Identifier: Apache-2.0
"""Estimators pass scikit-learn's checks, pickle, clone, cross-validate, and take dpnp arrays."""

import pickle

import dpnp
import numpy as np
import pytest

import sycl_dnn

pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.datasets import load_iris, make_regression  # noqa: E402
from sklearn.model_selection import cross_validate  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from sycl_dnn.sklearn import MLPClassifier, MLPRegressor  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
#: As the defaults, in fewer epochs.
QUICK = {"max_iter": 25, "learning_rate_init": 0.03, "hidden_layer_sizes": (16,)}


#: Those of other libraries' arrays run only where SciPy is set to take them.
CHECKS = parametrize_with_checks([MLPClassifier(**QUICK), MLPRegressor(**QUICK)]).mark
OF_NUMPY = [(of, check) for of, check in CHECKS.args[1] if "array_api" not in str(check)]


@pytest.mark.sweep(12)
@pytest.mark.parametrize(("estimator", "check"), OF_NUMPY, **CHECKS.kwargs)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    x, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(x).astype("f4"), y


def on_device(*arrays):
    queue = sycl_dnn.default_queue()
    return [dpnp.asarray(a, sycl_queue=queue) for a in arrays]


def test_string_classes_are_learned_and_pickled(iris):
    x, y = iris
    names = np.array(["one", "two", "three"])[y]
    net = MLPClassifier(**QUICK, random_state=0).fit(x, names)
    assert net.score(x, names) > 0.85
    # More than one block of samples.
    np.testing.assert_array_equal(net.predict(np.tile(x, (4, 1))), np.tile(net.predict(x), 4))
    assert net.loss_curve_[-1] < net.loss_curve_[0]
    again = pickle.loads(pickle.dumps(net))
    np.testing.assert_array_equal(again.predict_proba(x), net.predict_proba(x))
    fresh = clone(net)
    assert not hasattr(fresh, "coefs_")
    np.testing.assert_array_equal(fresh.fit(x, names).predict(x), net.predict(x))
    assert [w.shape for w in net.coefs_] == [(4, 16), (16, 3)]


@pytest.mark.slow
def test_device_arrays_stay_on_the_device(iris):
    x, y = on_device(*iris)
    net = MLPClassifier(**QUICK, random_state=0).fit(x, y)
    result = net.predict(x)
    assert isinstance(result, dpnp.ndarray)
    assert result.sycl_queue == x.sycl_queue
    assert net.predict_proba(x).shape == (150, 3)
    np.testing.assert_array_equal(dpnp.asnumpy(result), net.predict(iris[0]))
    assert net.score(x, y) == net.score(*iris) > 0.8
    same = MLPClassifier(**QUICK, random_state=0).fit(*iris)
    np.testing.assert_array_equal(same.coefs_[0], net.coefs_[0])


@pytest.mark.slow
@pytest.mark.parametrize("device", [None, "cpu", "queue"])
def test_the_device_option_takes_a_name_or_a_queue(iris, device):
    chosen = sycl_dnn.default_queue("cpu") if device == "queue" else device
    fitted = MLPClassifier(**QUICK, random_state=0, device=chosen).fit(*iris)
    assert fitted.score(*iris) > 0.9


@pytest.mark.slow
def test_pipelines_cross_validate(iris):
    for net, (x, y) in (
        (MLPClassifier(**QUICK, random_state=0), iris),
        (MLPRegressor(**QUICK, random_state=0), make_regression(120, 4, noise=1.0, random_state=0)),
    ):
        y = y if y.dtype.kind == "i" else y / y.std()
        found = cross_validate(make_pipeline(StandardScaler(), net), x, y, cv=3)
        assert (found["test_score"] > 0.8).all()


@pytest.mark.slow
def test_regression_matches_scikit_learn(iris):
    from sklearn.neural_network import MLPRegressor as Theirs

    x, y = make_regression(200, 5, n_targets=2, random_state=1)
    y = (y / y.std(0)).astype("f4")
    own = MLPRegressor((32,), random_state=0, learning_rate_init=0.01).fit(x, y)
    theirs = Theirs(hidden_layer_sizes=(32,), random_state=0, learning_rate_init=0.01).fit(x, y)
    assert own.predict(x).shape == (200, 2)
    assert own.score(x, y) == pytest.approx(theirs.score(x, y), abs=0.01)
    assert isinstance(own.predict(on_device(x.astype("f4"))[0]), dpnp.ndarray)
    # The same network computes the same.
    theirs.coefs_, theirs.intercepts_ = own.coefs_, own.intercepts_
    np.testing.assert_allclose(own.predict(x), theirs.predict(x), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["sgd", "lion"])
def test_optimizers_and_activations_learn(iris, optimizer):
    kind = {"sgd": "tanh", "lion": "silu"}[optimizer]
    rate = {"sgd": 0.1, "lion": 0.003}[optimizer]
    options = QUICK | {"max_iter": 30, "learning_rate_init": rate, "batch_size": 32}
    net = MLPClassifier(**options, optimizer=optimizer, activation=kind, random_state=1)
    assert net.fit(*iris).score(*iris) > 0.8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"activation": "sine"}, "activation must be one of .* got 'sine'"),
        ({"optimizer": "lbfgs"}, "optimizer must be one of .* got 'lbfgs'"),
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"hidden_layer_sizes": (3, 0)}, r"hidden_layer_sizes must be positive, got \(3, 0\)"),
        ({"batch_size": 0}, "batch_size must be 'auto' or at least 1, got 0"),
    ],
)
def test_invalid_parameters_are_refused_by_name(iris, options, message):
    with pytest.raises(ValueError, match=f"MLPClassifier: {message}"):
        MLPClassifier(**options).fit(*iris)


@pytest.mark.slow
def test_invalid_device_arrays_are_refused_by_name(iris):
    x, y = on_device(*iris)
    net = MLPClassifier(**QUICK)
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        net.fit(x * float("nan"), y)
    with pytest.raises(ValueError, match="y must have 150 rows as X has, got shape"):
        net.fit(x, y[:3])
    with pytest.raises(ValueError, match=r"X must be an array \(samples, features\)"):
        net.fit(x[0], y)
    with pytest.raises(ValueError, match="X has 3 features, but MLPClassifier is expecting 4"):
        net.fit(x, y).predict(x[:, :3])


@pytest.mark.slow
@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
def test_early_stopping_keeps_the_weights_of_the_best_score(kind, iris):
    x, y = iris
    options = {"random_state": 0, "early_stopping": True, "validation_fraction": 0.2}
    net = kind(**QUICK | {"max_iter": 200}, n_iter_no_change=3, **options).fit(x, y)
    scores = net.validation_scores_
    assert len(scores) == net.n_iter_ == len(net.loss_curve_) < 200
    assert net.best_validation_score_ == max(scores)
    assert net.best_loss_ is None
    # Stopped after more than three epochs that were not better by tol, and not before.
    steady, best, longest = 0, -np.inf, []
    for score in scores:
        steady = steady + 1 if score < best + net.tol else 0
        best = max(best, score)
        longest.append(steady)
    assert longest[-1] == 4
    assert max(longest[:-1]) == 3
    # As many epochs as the best one took, and no more, give the same weights.
    n_best = scores.index(max(scores)) + 1
    short = kind(**QUICK | {"max_iter": n_best}, n_iter_no_change=3, **options).fit(x, y)
    for a, b in zip(net.coefs_, short.coefs_, strict=True):
        np.testing.assert_array_equal(a, b)
    assert net.score(x, y) > 0.7
    device = kind(**QUICK, **options).fit(*on_device(x, y))
    assert device.validation_scores_[0] == pytest.approx(scores[0], abs=1e-5)


def test_invalid_fractions_are_refused(iris):
    with pytest.raises(ValueError, match="validation_fraction must lie between 0 and 1"):
        MLPClassifier(early_stopping=True, validation_fraction=1.5).fit(*iris)


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_partial_fit_continues_from_the_current_state(iris, optimizer):
    x, y = iris
    options = {**QUICK, "optimizer": optimizer, "shuffle": False, "tol": 0.0}
    whole = MLPClassifier(**options, random_state=3).fit(x, y)
    parts = MLPClassifier(**options, random_state=3)
    for epoch in range(whole.n_iter_):
        parts.partial_fit(x, y, classes=[0, 1, 2] if epoch == 0 else None)
        if epoch == 10:
            parts = pickle.loads(pickle.dumps(parts))
        if epoch == 15:
            parts.predict(x)
    assert parts.n_iter_ == whole.n_iter_ == 25
    np.testing.assert_array_equal(parts.loss_curve_, whole.loss_curve_)
    for a, b in zip(parts.coefs_, whole.coefs_, strict=True):
        np.testing.assert_array_equal(a, b)
    assert parts.best_loss_ == min(whole.loss_curve_)
    begun = whole.loss_
    assert whole.partial_fit(*on_device(x, y)).n_iter_ == 26
    assert whole.loss_curve_[:-1] == parts.loss_curve_
    assert whole.loss_ < begun * 1.2


@pytest.mark.slow
def test_partial_fit_accepts_batches_of_any_size(iris):
    x, y = iris
    names = np.array(["one", "two", "three"])[y]
    net = MLPClassifier((16,), learning_rate_init=0.03, random_state=0)
    order = np.random.default_rng(0).permutation(150)
    for _ in range(10):
        for part in np.split(order, 5):
            net.partial_fit(x[part], names[part], ["three", "two", "one"])
    assert net.n_iter_ == 50
    assert net.score(x, names) > 0.9
    a, b = make_regression(120, 5, n_targets=2, random_state=0)
    b = (b / b.std()).astype("f4")
    line = MLPRegressor((32,), learning_rate_init=0.01, random_state=0)
    for _ in range(60):
        line.partial_fit(*on_device(a.astype("f4"), b))
    assert line.score(a, b) > 0.9
    assert line.predict(a).shape == (120, 2)


def test_invalid_use_of_partial_fit_is_refused(iris):
    x, y = iris
    net = MLPClassifier((4,))
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        net.partial_fit(x, y)
    net.partial_fit(x[:50], y[:50], classes=[0, 1])
    with pytest.raises(ValueError, match=r"classes must be those of the first call, \[0 1\]"):
        net.partial_fit(x, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"y must have classes of \[0 1\] only, got \[2\]"):
        net.partial_fit(x, y)
    with pytest.raises(ValueError, match="X has 3 features, but MLPClassifier is expecting 4"):
        net.partial_fit(*on_device(x[:, :3].copy(), y))
    with pytest.raises(ValueError, match="early_stopping=False"):
        MLPClassifier(early_stopping=True).partial_fit(x, y, [0, 1, 2])
    line = MLPRegressor((4,)).partial_fit(x, y)
    with pytest.raises(ValueError, match="y must have 1 outputs, got 2"):
        line.partial_fit(x, np.stack([y, y], 1))
