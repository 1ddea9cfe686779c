# SPDX-License-Identifier: Apache-2.0
"""The references themselves: their gradients against differences, and that they cover all rows."""

import numpy as np
import pytest
from cases import CASES
from reference_calls import each, exact, run

from conformance.references import REFERENCES

ALL = [case for cases in CASES.values() for case in cases]
FORWARD = [case for case in ALL if case.forward is None]
BACKWARD = [case for case in ALL if case.forward is not None]
STEP = 1e-6  # of the central differences: inputs of order 1, kinks at least this far away


def difference(case, inputs, name, along, weights):
    """Central difference of the weighted outputs when one input moves ``along`` a direction."""

    def weighted(step):
        moved = run(case, inputs | {name: inputs[name] + step * along})
        return sum((weight * moved[out]).sum() for out, weight in weights.items())

    return (weighted(STEP) - weighted(-STEP)) / (2 * STEP)


@pytest.mark.sweep(4)
@each("case", BACKWARD, ids=lambda case: case.id)
def test_gradient(case):
    """<gradient, direction> is the derivative along random directions, for every input."""
    forward = case.forward_case
    inputs = exact(forward.inputs())
    results = run(forward, inputs)
    rng = np.random.default_rng(1)
    outputs = [n.removeprefix("diff_") for n in case.shapes if n.startswith("diff_dst")]
    weights = {name: rng.standard_normal(results[name].shape) for name in outputs}
    seeds = {f"diff_{name}": weight for name, weight in weights.items()}
    gradients = run(case, inputs | results | seeds)
    for output in case.output_names:
        name = output.removeprefix("diff_")
        assert gradients[output].shape == inputs[name].shape
        scale = np.abs(gradients[output]).sum()
        for _ in range(3):
            along = rng.choice((-1.0, 1.0), inputs[name].shape)
            found = difference(forward, inputs, name, along, weights)
            assert abs((gradients[output] * along).sum() - found) <= 1e-7 * scale + 1e-9


@pytest.mark.sweep(4)
@each("case", ALL, ids=lambda case: case.id)
def test_case_is_consistent(case):
    """Inputs and results have the dims of the case, are finite, and come again with the seed."""
    arrays = case.inputs()
    for name, array in case.inputs().items():
        assert np.array_equal(array, arrays[name])
    for name in case.input_names:
        assert arrays[name].shape == tuple(case.shapes[name])
    for name, result in case.expected(arrays).items():
        assert result.shape == tuple(case.shapes[name])
        assert result.dtype == np.float64
        assert np.isfinite(result).all()
    assert set(case.faulty) <= set(case.output_names)


def test_every_row_is_here():
    """47 rows, each with at least three cases whose names differ."""
    assert len(REFERENCES) == 47
    assert set(CASES) == set(REFERENCES)
    for cases in CASES.values():
        assert len(cases) >= 3
        assert len({case.name for case in cases}) == len(cases)
