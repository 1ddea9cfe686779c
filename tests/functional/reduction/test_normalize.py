# SPDX-License-Identifier: Apache-2.0
import dpnp
import numpy as np
from functional.case import Case, Spec
from functional.checks import checked

import sycl_dnn
from sycl_dnn import functional as F

#: name: shape of the input, the other arguments, layout.
_NORMALIZE = {
    "rows": ((3, 7),),
    "channels": ((2, 5, 4, 3),),
    "last": ((3, 4, 17), (2.0, -1)),
    "first": ((5, 4), (2.0, 0)),
    "sum": ((3, 7), (1.0,)),
    "cube": ((3, 7), (3.0,)),
    "largest": ((3, 7), (np.inf,)),
    "two-axes": ((3, 4, 5), (2.0, (1, 2))),
    "all": ((3, 4), (2.0, None)),
    "least": ((3, 7), (2.0, 1, 100.0)),
    "channels-last": ((2, 16, 4, 3), (), "channels_last"),
    "strided": ((3, 7), (), "strided"),
    "reversed": ((3, 7), (), "reversed"),
}
CASES = [
    Case(name, F.normalize,
         (Spec(shape, layout=rest[1] if len(rest) > 1 else "plain"), *(rest[0] if rest else ())),
         torch="normalize", slack=3)
    for name, (shape, *rest) in _NORMALIZE.items()
]  # fmt: skip
CASES += [c.as_dtype("bfloat16") for c in CASES if c.name in ("rows", "channels", "channels-last")]
TestCases = checked(CASES, sweep=3)


def test_values_and_gradients_are_one_kernel_each(queue):
    def function(x, dy):
        y, pullback = sycl_dnn.vjp(F.normalize, x)
        return y, pullback(dy)

    x = dpnp.ones((7, 5), dtype="f4", sycl_queue=queue)
    assert sycl_dnn.compile(lambda x: F.normalize(x)).explain(x).n_steps == 1
    assert sycl_dnn.compile(lambda x, dy: function(x, dy)[1]).explain(x, x).n_steps == 1
