# SPDX-License-Identifier: Apache-2.0
"""Mutated models end in errors of the package: a few here, any number by mutated_models.py."""

import mutated_models
import pytest


def test_the_model_that_is_mutated_runs():
    assert mutated_models.outcome(mutated_models.seed_model()) == "ran"


@pytest.mark.parametrize("n", [20, pytest.param(300, marks=pytest.mark.slow)])
def test_mutants_are_refused_or_run(n):
    found = [mutated_models.outcome(*mutated_models.mutant(1, number)) for number in range(n)]
    assert set(found) <= {"ran", "refused at load", "refused at the call"}
    assert found.count("ran") < n
