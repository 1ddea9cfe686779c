# SPDX-License-Identifier: Apache-2.0
"""Cases of single operations with other shapes and attributes: empty, large, of any rank."""

from dataclasses import replace

from .cases import CASES, Case

_CASE = {str(case): case for case in CASES}


def _other(name: str, shapes: tuple, **attrs) -> Case:
    """Return a case with other shapes, of its tensors in their order, and other attributes."""
    case, changed = _CASE[name], dict(zip(_CASE[name].tensors, shapes, strict=False))
    tensors = {n: replace(t, shape=changed.get(n, t.shape)) for n, t in case.tensors.items()}
    told = [case.note] if case.note else []
    told += ["x".join(map(str, s)) or "scalar" for s in shapes]
    told += [f"{n}={v}".replace(" ", "") for n, v in attrs.items()]
    return replace(case, tensors=tensors, attrs=case.attrs | attrs, note="-".join(told))


def _pairs(*shapes: tuple) -> list[tuple]:
    return [(shape, shape) for shape in shapes]


#: Names of cases -> shapes.
_SHAPES = {
    ("add", "maximum", "squared_difference"): [
        *_pairs((4, 5, 6, 7), (0, 3, 4, 5), (), (7,), (2, 2, 2, 2, 2, 2)),
        ((7, 1), (1, 9)),
    ],
    ("tanh", "gelu", "clamp", "leaky_relu", "reorder"): [
        *(((3, 17),), ((2, 3, 33),), ((16, 16, 16, 16),), ((0, 8),), ((),), ((5, 1, 1, 1, 7),))
    ],
    ("matmul",): [
        *(((33, 65), (65, 17)), ((5, 33, 65), (65, 17)), ((3, 1, 8, 16), (2, 16, 8))),
        *(((16,), (16, 3)), ((4, 16), (16,)), ((0, 6), (6, 5))),
    ],
    ("convolution",): [
        *(((1, 5, 9, 4),), ((3, 16, 16, 32), (3, 3, 32, 48)), ((2, 1, 1, 4), (1, 1, 4, 6)))
    ],
    ("convolution-1d",): [((3, 4, 17), (6, 4, 5))],
    ("layer_norm-plain",): [((1, 3, 8),), ((7, 3, 8),)],
    ("max_pool", "bias_add", "reduce_sum", "interpolate"): [((1, 3, 8, 5),), ((7, 3, 8, 5),)],
    ("relu_backward-dst",): _pairs((1, 3, 4, 5), (7, 3, 4, 5)),
}
#: Names of cases, and the attributes of each of their variants.
_ATTRIBUTES = {
    ("gen_index",): [{"axis": 0}],
    ("reduce_max", "reduce_mean", "reduce_l2", "reduce_sum"): [
        {"axes": (0,)},
        {"axes": (0, 1, 2)},
        {"axes": (-1,), "keep_dims": False},
        {"axes": (1, 3)},
    ],
    ("max_pool", "avg_pool", "avg_pool-include"): [
        {"kernel": (2, 2)},
        {"strides": (1, 1)},
        *({"auto_pad": pad} for pad in ("SAME_UPPER", "SAME_LOWER", "VALID")),
    ],
    # With padding that counts, oneDNN refuses it.
    ("max_pool", "avg_pool"): [{"rounding_type": "ceil"}],
    ("convolution",): [
        {"strides": (2, 2)},
        {"auto_pad": "SAME_LOWER"},
        {"dilations": (2, 2)},
        {"pads_begin": (1, 2), "pads_end": (2, 0)},
    ],
    ("elu", "leaky_relu"): [{"alpha": 0.25}, {"alpha": 2.0}],
    ("static_transpose",): [{"order": (1, 0, 2)}, {"order": (0, 2, 1)}],
    ("static_reshape",): [{"shape": shape} for shape in ((6, 4), (24,), (0, -1, 2))],
    ("quantize", "dequantize"): [{"scales": (0.125,)}, {"scales": (0.05,), "zps": (7,)}],
}
VARIANTS = [
    *(_other(name, s) for names, shapes in _SHAPES.items() for name in names for s in shapes),
    *(_other(name, (), **a) for names, rows in _ATTRIBUTES.items() for name in names for a in rows),
    *(
        _other(name, (shape,), axis=axis)
        for name in ("softmax", "log_softmax")
        for shape in ((4, 33), (2, 3, 4, 129), (5, 7, 16))
        for axis in (-1, 0, 1)
    ),
    *(
        _other("matmul", ((8, 8), (8, 8)), transpose_a=a, transpose_b=b)
        for a, b in ((True, False), (False, True), (True, True))
    ),
]
