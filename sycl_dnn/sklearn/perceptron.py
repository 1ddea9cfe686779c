# SPDX-License-Identifier: Apache-2.0
"""What the two estimators share: parameters, arguments, training, and fitted attributes."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

import dpctl
import dpnp
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

import sycl_dnn
from sycl_dnn.sklearn import perceptron_training as training

#: What fitted estimators have on their devices: ``coefs_``, and the layers behind it with the
#: optimiser's state. A pickle has both as host arrays.
_layers: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


class Perceptron(BaseEstimator):
    """What both estimators share."""

    _is_classifier: bool
    loss_curve_: list[float]
    validation_scores_: list[float] | None
    best_loss_: float | None

    def __init__(
        self, hidden_layer_sizes: Any = (100,), activation: str = "relu", *,
        optimizer: str = "adam", alpha: float = 1e-4, batch_size: Any = "auto",
        learning_rate_init: float = 1e-3, max_iter: int = 200, shuffle: bool = True,
        random_state: Any = None, tol: float = 1e-4, early_stopping: bool = False,
        validation_fraction: float = 0.1, n_iter_no_change: int = 10, device: Any = None,
    ) -> None:  # fmt: skip
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.optimizer = optimizer
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate_init = learning_rate_init
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.device = device

    # Inputs.

    def _check_parameters(self) -> list[int]:
        name = type(self).__name__
        for what, table in (("activation", training.ACTIVATIONS),
                            ("optimizer", training.OPTIMIZERS)):  # fmt: skip
            if getattr(self, what) not in table:
                raise ValueError(
                    f"{name}: {what} must be one of {sorted(table)}, got {getattr(self, what)!r}"
                )
        for what, least in (("max_iter", 1), ("n_iter_no_change", 1), ("alpha", 0), ("tol", 0)):
            if getattr(self, what) < least:
                raise ValueError(
                    f"{name}: {what} must be at least {least}, got {getattr(self, what)}"
                )
        if not 0 < self.validation_fraction < 1:
            raise ValueError(
                f"{name}: validation_fraction must lie between 0 and 1, got "
                f"{self.validation_fraction}"
            )
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=object)).tolist()
        if any(not isinstance(n, (int, np.integer)) or n < 1 for n in sizes):
            raise ValueError(
                f"{name}: hidden_layer_sizes must be positive, got {self.hidden_layer_sizes}"
            )
        return [int(n) for n in sizes]

    def _queue(self, x: Any) -> Any:
        if isinstance(x, dpnp.ndarray):
            return x.sycl_queue
        if isinstance(self.device, dpctl.SyclQueue):
            return self.device
        return sycl_dnn.default_queue(self.device)

    def _input(self, x: Any) -> Any:
        """Return samples (N, features) for predicting, on a device."""
        check_is_fitted(self)
        if not isinstance(x, dpnp.ndarray):
            x = validate_data(self, x, dtype="float32", reset=False)
            return dpnp.asarray(x, sycl_queue=self._queue(None))
        _check_samples(type(self).__name__, x)
        self._check_width(x)
        return x.astype("f4", copy=False)

    def _check_width(self, x: Any) -> None:
        if x.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {x.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )

    def _data(self, x: Any, y: Any, is_first: bool = True) -> tuple[Any, np.ndarray]:
        """Return samples on a device, and targets on the host."""
        if not isinstance(x, dpnp.ndarray):
            y = dpnp.asnumpy(y) if isinstance(y, dpnp.ndarray) else y
            options: dict[str, Any] = {"multi_output": True}
            if not self._is_classifier:
                options["y_numeric"] = True
            x, y = validate_data(self, x, y, dtype="float32", reset=is_first, **options)
            return dpnp.asarray(x, sycl_queue=self._queue(None)), y
        _check_samples(type(self).__name__, x)
        if not is_first:
            self._check_width(x)
        targets = dpnp.asnumpy(y) if isinstance(y, dpnp.ndarray) else np.asarray(y)
        if targets.ndim < 1 or targets.shape[0] != x.shape[0]:
            raise ValueError(
                f"{type(self).__name__}: y must have {x.shape[0]} rows as X has, got shape "
                f"{targets.shape}"
            )
        if targets.dtype.kind == "f" and not np.isfinite(targets).all():
            raise ValueError("Input y contains NaN or infinity.")
        self.n_features_in_ = x.shape[1]
        return x.astype("f4", copy=False), targets

    # Training.

    def _fitted(self, x: Any, targets: np.ndarray, n_outputs: int) -> None:
        hidden = self._check_parameters()
        self._random = random = check_random_state(self.random_state)
        x, targets, score = self._held_out(x, targets, random)
        begun = self._begun(x, hidden, n_outputs)
        self._finished(self._until_it_stands(self._epochs(begun, x, targets), score))

    def _begun(self, x: Any, hidden: list[int], n_outputs: int) -> training.Trained:
        """Return the layers before the first step."""
        sizes = [x.shape[1], *hidden, n_outputs]
        layers = training.initial(sizes, self.activation, self._random)
        self.n_outputs_, self.n_layers_ = n_outputs, len(sizes)
        return training.Trained(training.on_device(layers, x.sycl_queue))

    def _epochs(self, begun: training.Trained, x: Any, targets: np.ndarray) -> Any:
        """Return an iterator that trains, epoch by epoch."""
        n = x.shape[0]
        size = min(200, n) if self.batch_size == "auto" else self.batch_size
        if not isinstance(size, (int, np.integer)) or size < 1:
            raise ValueError(
                f"{type(self).__name__}: batch_size must be 'auto' or at least 1, got "
                f"{self.batch_size!r}"
            )
        settings = training.Settings(
            self.activation, self._is_classifier, float(self.alpha), self.optimizer,
            float(self.learning_rate_init),
        )  # fmt: skip
        y = dpnp.asarray(targets, sycl_queue=x.sycl_queue)
        seed = int(self._random.randint(2**31 - 1))
        return training.epochs(begun, settings, x, y, min(int(size), n), bool(self.shuffle), seed)

    def _finished(self, trained: training.Trained) -> None:
        """Keep the trained layers, on the device and on the host."""
        self.coefs_, self.intercepts_ = (
            list(part) for part in zip(*training.on_host(trained.layers), strict=True)
        )
        _layers[self] = (self.coefs_, trained)

    def _fitted_partly(self, x: Any, targets: np.ndarray, n_outputs: int) -> None:
        """Train for one more epoch, continuing from the previous call."""
        hidden = self._check_parameters()
        if self.early_stopping:
            raise ValueError(
                f"{type(self).__name__}: partial_fit must be called with early_stopping=False"
            )
        if not hasattr(self, "coefs_"):
            self._random = check_random_state(self.random_state)
            begun = self._begun(x, hidden, n_outputs)
            self.loss_curve_ = []
            self.validation_scores_ = self.best_validation_score_ = None
            self.n_iter_, self.best_loss_ = 0, np.inf
        else:
            begun = self._trained(x.sycl_queue)
        value, trained = next(self._epochs(begun, x, targets))
        self._finished(trained)
        self.loss_curve_.append(value)
        best = np.inf if self.best_loss_ is None else self.best_loss_
        self.n_iter_, self.loss_, self.best_loss_ = self.n_iter_ + 1, value, min(best, value)

    def __getstate__(self) -> Any:
        known, trained = _layers.get(self, (None, None))
        state = dict(super().__getstate__())
        if known is not None and known is self.coefs_:
            state["_state"] = trained.moved(dpnp.asnumpy).state
        return state

    def _trained(self, queue: Any) -> training.Trained:
        """Return layers and the optimiser's state on a queue."""
        known, trained = _layers.get(self, (None, None))
        if known is not self.coefs_:
            layers = list(zip(self.coefs_, self.intercepts_, strict=True))
            trained = training.Trained(layers, self.__dict__.get("_state"))
        elif trained.layers[0][0].sycl_queue == queue:
            return trained
        else:
            trained = trained.moved(dpnp.asnumpy)
        trained = trained.moved(lambda a: dpnp.asarray(a, sycl_queue=queue))
        _layers[self] = (self.coefs_, trained)
        return trained

    def _held_out(
        self, x: Any, targets: np.ndarray, random: np.random.RandomState
    ) -> tuple[Any, np.ndarray, Callable[[Any], float] | None]:
        """Return the training data, and with ``early_stopping`` a score of layers on the rest."""
        if not self.early_stopping:
            return x, targets, None
        kept, rest = train_test_split(
            np.arange(len(targets)), test_size=self.validation_fraction, random_state=random,
            stratify=targets if self._is_classifier else None,
        )  # fmt: skip
        kept, rest = np.sort(kept), np.sort(rest)
        held, wanted = x[dpnp.asarray(rest, sycl_queue=x.sycl_queue)], targets[rest]

        def score(layers: Any) -> float:
            made = training.predicted(layers, held, self.activation, self._is_classifier)
            if self._is_classifier:
                return float(np.mean(dpnp.asnumpy(dpnp.argmax(made, axis=1)) == wanted))
            return float(r2_score(wanted, dpnp.asnumpy(made)))

        return x[dpnp.asarray(kept, sycl_queue=x.sycl_queue)], targets[kept], score

    def _until_it_stands(self, run: Any, score: Callable[[Any], float] | None) -> Any:
        """Train until the loss or the score stops improving, or for ``max_iter`` epochs."""
        self.loss_curve_ = []
        self.validation_scores_ = None if score is None else []
        # What should fall: the loss, or minus the score.
        best, chosen, n_steady = np.inf, None, 0
        while True:
            value, trained = next(run)
            self.loss_curve_.append(value)
            judged = value
            if score is not None and self.validation_scores_ is not None:
                self.validation_scores_.append(score(trained.layers))
                judged = -self.validation_scores_[-1]
            n_steady = n_steady + 1 if judged > best - self.tol else 0
            if judged < best or score is None or chosen is None:
                chosen = trained
            best = min(best, judged)
            if n_steady > self.n_iter_no_change or len(self.loss_curve_) == self.max_iter:
                break
        if n_steady <= self.n_iter_no_change:
            what = "loss still falls" if score is None else "score still rises"
            warnings.warn(
                f"{type(self).__name__}: the {what} after max_iter={self.max_iter} epochs",
                ConvergenceWarning, stacklevel=4,
            )  # fmt: skip
        self.n_iter_, self.loss_ = len(self.loss_curve_), value
        self.best_loss_ = best if score is None else None
        self.best_validation_score_ = None if score is None else -best
        return chosen

    def _outputs(self, x: Any) -> Any:
        """Return probabilities or values on the device of ``x``."""
        layers = self._trained(x.sycl_queue).layers
        return training.predicted(layers, x, self.activation, self._is_classifier)


def _check_samples(name: str, x: Any) -> None:
    """Refuse what scikit-learn refuses in NumPy arrays."""
    if x.ndim != 2 or 0 in x.shape:
        raise ValueError(f"{name}: X must be an array (samples, features), got shape {x.shape}")
    if x.dtype.kind not in "biuf":
        raise ValueError(f"{name}: X must be of real numbers, got {x.dtype}")
    if x.dtype.kind == "f" and not bool(dpnp.isfinite(x).all()):
        raise ValueError(f"{name}: X contains NaN or infinity")


def on_host(value: Any) -> Any:
    """Return a device array as NumPy's; anything else unchanged."""
    return dpnp.asnumpy(value) if isinstance(value, dpnp.ndarray) else value
