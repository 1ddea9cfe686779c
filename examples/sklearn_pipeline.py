# SPDX-License-Identifier: Apache-2.0
"""A network as a scikit-learn estimator on a device, with scaling, a search and cross-validation.

It has no ``--compile``, since estimators compile their steps themselves, and no ``--distributed``:
the fits of a search are independent, so scikit-learn's ``n_jobs`` distributes them over processes
without collectives.
"""

from __future__ import annotations

from typing import Any

from _training import begin, check, finish
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sycl_dnn
from sycl_dnn.sklearn import MLPClassifier


def main() -> None:
    """Search for a width; fail if too few held-out digits are recognized."""
    options, _ = begin(__doc__, steps=20, rate=3e-3, own_steps=False)
    digits, classes = load_digits(return_X_y=True)
    x, held_out, y, expected = train_test_split(digits, classes, random_state=options.seed)
    network = MLPClassifier(max_iter=options.steps, learning_rate_init=options.rate,
                            random_state=options.seed, device=options.device)  # fmt: skip
    pipeline = make_pipeline(StandardScaler(), network)
    widths = {"mlpclassifier__hidden_layer_sizes": [(16,), (64, 32)]}
    with sycl_dnn.autocast(options.dtype):  # "float32" casts nothing
        search = GridSearchCV(pipeline, widths, cv=3).fit(x, y)
    accuracy: Any = search.score(held_out, expected)
    for row, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"],
                          strict=True):  # fmt: skip
        print(f"{row}: accuracy {score:.3f} in cross-validation")
    print(f"held-out accuracy {accuracy:.3f} with {search.best_params_}")
    check(options, "the held-out accuracy must be at least 0.9", accuracy >= 0.9)
    finish(options, "sklearn_pipeline", search.best_estimator_[-1].loss_curve_)


if __name__ == "__main__":
    main()
