# SPDX-License-Identifier: Apache-2.0
"""Families of primitives as tables of options, and the cells they expand to: one case each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sycl_dnn.tools.cases.case_files import Case, case_of

Texts = dict[str, str]


@dataclass(frozen=True)
class Family:
    """One driver and what varies.

    kinds : name -> problem, with options in front where the kind needs some
    types : name -> options; after ``|`` the directions that have such types (all without)
    layouts : name -> options
    directions : values of --dir (or --prop)
    option : name of the option of directions; empty where there is none
    """

    driver: str
    kinds: Texts
    types: Texts
    layouts: Texts
    directions: tuple[str, ...] = ("",)
    option: str = "dir"


def same(options: tuple[str, ...], tags: Texts) -> Texts:
    """Return one tag for several options at once, by tag."""
    return {name: " ".join(f"--{o}={tag}" for o in options) for name, tag in tags.items()}


def types(option: str, *names: str) -> Texts:
    """Return types of one kind each: ``f32`` -> ``--dt=f32``."""
    return {name: f"--{option}={name}" for name in names}


def from_to(*pairs: str, only: str = "") -> Texts:
    """Return sources and destinations: ``f32:s8`` -> ``--sdt=f32 --ddt=s8``."""
    split = {pair: pair.rpartition(":") for pair in pairs}
    return {pair: f"--sdt={a} --ddt={b}{only}" for pair, (a, _, b) in split.items()}


FLOATS = ("f32", "bf16", "f16", "f64")
SMALL_FLOATS = ("f8_e5m2", "f8_e4m3")
FORWARD = "|FWD"
LAYOUTS = {"plain": "abx", "last": "axb", "blocked": "aBx16b"}
BOTH = ("FWD_D", "FWD_I", "BWD_D")
BYTES = {name: f"--dt={name}{FORWARD}" for name in ("s8", "u8")}


# --- Elementwise primitives, pooling, norms, softmax

DATA = (
    Family(
        "eltwise",
        {
            "relu": "--alg=RELU --alpha=0 --beta=0 2x64x14x14",
            "gelu_erf": "--alg=GELU_ERF --alpha=0 --beta=0 2x64x14x14",
            "logistic": "--alg=LOGISTIC --alpha=0 --beta=0 2x64x14x14",
            "pow": "--alg=POW --alpha=1 --beta=1.5 2x64x14x14",
        },
        types("dt", *FLOATS, *SMALL_FLOATS)
        | {name: f"--dt={name}{FORWARD}" for name in ("s32", "s8", "u8")},
        same(("tag",), LAYOUTS),
        BOTH,
    ),
    Family(
        "binary",
        {
            "add": "--alg=ADD 2x64x14x14:2x64x14x14",
            "add by channel": "--alg=ADD 2x64x14x14:1x64x1x1",
            "add a number": "--alg=ADD 2x64x14x14:1x1x1x1",
            "eq": "--alg=EQ 2x64x14x14:2x64x14x14",
            "select": "--alg=SELECT 2x64x14x14:2x64x14x14",
        },
        {f"{t}": f"--sdt={t}:{t} --ddt={t}" for t in (*FLOATS, *SMALL_FLOATS, "s32", "s8", "u8")}
        | {"f32:bf16:f32": "--sdt=f32:bf16 --ddt=f32", "s8:f32:s8": "--sdt=s8:f32 --ddt=s8"},
        {name: f"--stag={tag}:{tag}" for name, tag in LAYOUTS.items()},
    ),
    Family(
        "prelu",
        {"by channel": "2x64x14x14:1x64x1x1", "all": "2x64x14x14:2x64x14x14"},
        types("sdt", *FLOATS) | {n: f"--sdt={n}{FORWARD}" for n in ("s32", "s8", "u8")},
        {name: f"--stag={tag}:any" for name, tag in LAYOUTS.items()},
        ("FWD_D", "FWD_I", "BWD_DW"),
    ),
    Family(
        "pool",
        {
            "max": "--alg=max mb2ic64ih14kh3sh2ph1",
            "avg": "--alg=avg_np mb2ic64ih14kh3sh2ph1",
            "max 3 axes": "--alg=max mb2ic32id8ih8iw8kd2kh2kw2sd2sh2sw2",
        },
        types("dt", *FLOATS, *SMALL_FLOATS)
        | {"s32": f"--dt=s32{FORWARD}"}
        | BYTES
        | {"s8:f32": f"--dt=s8:f32{FORWARD}"},
        same(("tag",), LAYOUTS),
        BOTH,
    ),
    Family(
        "lrn",
        {"across": "--alg=ACROSS mb2ic64ih14", "within": "--alg=WITHIN mb2ic64ih14"},
        types("dt", *FLOATS),
        same(("tag",), LAYOUTS),
        BOTH,
    ),
    Family(
        "bnorm",
        {
            "plain": "mb2ic64ih14",
            "scale + shift": "--flags=CH mb2ic64ih14",
            "scale + shift + relu": "--flags=CHR mb2ic64ih14",
            "given statistics": "--flags=GCH mb2ic64ih14",
        },
        types("dt", *FLOATS) | {"s8": f"--dt=s8{FORWARD}"},
        same(("tag",), LAYOUTS),
        ("FWD_D", "FWD_I", "BWD_D", "BWD_DW"),
    ),
    Family(
        "lnorm",
        {"scale + shift": "--flags=CH 8x16x256", "rms": "--flags=CM 8x16x256"},
        types("dt", *FLOATS)
        | {"bf16:f32": f"--dt=bf16:f32{FORWARD}", "f32:s8": f"--dt=f32:s8{FORWARD}"},
        same(("tag",), {"plain": "abx", "transposed": "bax"}),
        ("FWD_D", "FWD_I", "BWD_DW"),
    ),
    Family(
        "gnorm",
        {
            "scale + shift": "--flags=CH g8mb2ic64ih14",
            "one channel each": "--flags=CH g64mb2ic64ih14",
        },
        types("dt", *FLOATS) | {"f32:s8": f"--dt=f32:s8{FORWARD}"},
        same(("tag",), LAYOUTS),
        ("FWD_D", "FWD_I", "BWD_DW"),
    ),
    Family(
        "softmax",
        {
            "last axis": "--alg=SOFTMAX --axis=1 128x256",
            "channels": "--alg=SOFTMAX --axis=1 2x64x14x14",
            "log of last axis": "--alg=LOGSOFTMAX --axis=1 128x256",
        },
        from_to(*(f"{t}:{t}" for t in (*FLOATS, *SMALL_FLOATS)), "bf16:f32", "f16:f32")
        | from_to("f32:s8", "f32:u8", only=FORWARD),
        same(("stag",), {"plain": "abx", "last": "axb"}),
        BOTH,
    ),
)


# --- Primitives that move or sum elements

MOVING = (
    Family(
        "concat",
        {"channels": "--axis=1 2x32x14x14:2x64x14x14", "batch": "--axis=0 2x32x14x14:4x32x14x14"},
        from_to(*(f"{t}:{t}" for t in (*FLOATS, *SMALL_FLOATS, "s32", "s8", "u8")), "f32:s8"),
        same(("stag",), LAYOUTS),
    ),
    Family(
        "sum",
        {"two": "--scales=0.5:2 2x64x14x14"},
        {t: f"--sdt={t}:{t} --ddt={t}" for t in (*FLOATS, *SMALL_FLOATS, "s32", "s8", "u8")}
        | {"bf16:bf16:f32": "--sdt=bf16:bf16 --ddt=f32"},
        same(("stag",), LAYOUTS),
    ),
    Family(
        "reorder",
        {"data": "2x64x14x14"},
        from_to(
            *(f"{t}:{t}" for t in (*FLOATS, *SMALL_FLOATS, "s32", "s8", "u8", "s4", "u4")),
            *(f"f32:{t}" for t in ("bf16", "f16", "f64", *SMALL_FLOATS, "f4_e2m1", "s8", "u8")),
            *(f"{t}:f32" for t in ("bf16", "f16", *SMALL_FLOATS, "s8", "u8", "s4", "u4")),
        ),
        {
            "plain to plain": "--stag=abx --dtag=abx",
            "plain to last": "--stag=abx --dtag=axb",
            "plain to blocked": "--stag=abx --dtag=aBx16b",
            "blocked to plain": "--stag=aBx16b --dtag=abx",
        },
    ),
    Family(
        "shuffle",
        {"channels": "--axis=1 --group=4 2x64x14x14", "height": "--axis=2 --group=2 2x64x14x14"},
        types("dt", *FLOATS) | {n: f"--dt={n}{FORWARD}" for n in ("s32", "s8", "u8")},
        same(("tag",), LAYOUTS),
        BOTH,
    ),
    Family(
        "resampling",
        {"nearest": "--alg=nearest mb2ic64ih14oh28", "linear": "--alg=linear mb2ic64ih14oh28"},
        from_to(*(f"{t}:{t}" for t in FLOATS), "bf16:f32")
        | from_to("s8:s8", "u8:f32", only=FORWARD),
        same(("tag",), LAYOUTS),
        BOTH,
    ),
    Family(
        "reduction",
        {
            "sum of one axis": "--alg=sum 2x64x14x14:2x1x14x14",
            "max of images": "--alg=max 2x64x14x14:2x64x1x1",
            "sum of all": "--alg=sum 2x64x14x14:1x1x1x1",
            "norm": "--alg=norm_lp_sum --p=2 2x64x14x14:2x64x1x1",
        },
        from_to(*(f"{t}:{t}" for t in FLOATS), "bf16:f32", "s8:s8", "u8:s32", "s32:s32"),
        same(("stag",), LAYOUTS),
    ),
)


# --- Convolutions and matrix products

_INTEGERS = {
    name: f"--dt={name}{FORWARD}" for name in ("u8:s8:u8", "u8:s8:f32", "s8:s8:s8", "s8:s8:f32")
}
_PRODUCT_TYPES = (
    types("dt", *FLOATS, *SMALL_FLOATS)
    | {"bf16:bf16:f32": f"--dt=bf16:bf16:f32{FORWARD}"}
    | {"f16:f16:f32": f"--dt=f16:f16:f32{FORWARD}"}
    | _INTEGERS
    | {"f32 as bf16": "--dt=f32 --attr-fpmath=bf16"}
)
_PRODUCT_LAYOUTS = {
    "any": "--stag=any --wtag=any --dtag=any",
    "plain": "--stag=abx --wtag=any --dtag=abx",
    "last": "--stag=axb --wtag=any --dtag=axb",
    "all plain": "--stag=abx --wtag=abx --dtag=abx",
}
_PRODUCT_DIRECTIONS = ("FWD_B", "FWD_I", "BWD_D", "BWD_WB")

PRODUCTS = (
    Family(
        "conv",
        {
            "3x3": "mb2ic64ih14oc64kh3ph1",
            "1x1": "mb2ic64ih14oc64kh1",
            "3x3 stride 2": "mb2ic64ih14oc64kh3ph1sh2",
            "7x7 on 3 channels": "mb2ic3ih56oc64kh7sh2ph3",
            "3x3 4 groups": "g4mb2ic64ih14oc64kh3ph1",
            "3x3 depthwise": "g64mb2ic64ih14oc64kh3ph1",
            "3x3x3": "mb2ic32id8ih8iw8oc32kd3kh3kw3pd1ph1pw1",
        },
        _PRODUCT_TYPES,
        _PRODUCT_LAYOUTS,
        _PRODUCT_DIRECTIONS,
    ),
    Family(
        "deconv",
        {"4x4 stride 2": "mb2ic64ih7oc32kh4sh2ph1", "3x3": "mb2ic64ih14oc64kh3ph1"},
        _PRODUCT_TYPES,
        _PRODUCT_LAYOUTS,
        _PRODUCT_DIRECTIONS,
    ),
    Family(
        "ip",
        {"matrix": "mb32ic256oc128", "image": "mb32ic64ih7oc128"},
        _PRODUCT_TYPES,
        _PRODUCT_LAYOUTS,
        _PRODUCT_DIRECTIONS,
    ),
    Family(
        "matmul",
        {
            "matrix": "128x256:256x64",
            "batch": "8x64x128:8x128x64",
            "batch + bias": "--bia-dt=f32 8x64x128:8x128x64",
            "vector": "1x256:256x64",
        },
        types("dt", *FLOATS, *SMALL_FLOATS, "f4_e2m1")
        | types("dt", "bf16:bf16:f32", "f16:f16:f32")
        | {name: f"--dt={name}" for name in ("u8:s8:s32", "u8:s8:f32", "s8:s8:s8", "s8:s8:f32")}
        | {
            "f32 s8 weights": "--dt=f32:s8:f32 --attr-scales=wei:per_oc --attr-fpmath=bf16:true",
            "bf16 s8 weights": "--dt=bf16:s8:bf16 --attr-scales=wei:per_oc --attr-fpmath=bf16:true",
            "bf16 u4 weights": "--dt=bf16:u4:bf16 --attr-scales=wei:per_ocic:bf16:32x1"
            " --attr-zero-points=wei:per_ocic:u4:32x1 --attr-fpmath=bf16:true",
            "f16 u4 weights": "--dt=f16:u4:f16 --attr-scales=wei:per_ocic:f16:32x1"
            " --attr-zero-points=wei:per_ocic:u4:32x1 --attr-fpmath=f16:true",
            "f32 as bf16": "--dt=f32 --attr-fpmath=bf16",
        },
        {
            "any": "--stag=any --wtag=any --dtag=any",
            "plain": "--stag=abx --wtag=any --dtag=abx",
            "all plain": "--stag=abx --wtag=abx --dtag=abx",
            "transposed": "--stag=abx --wtag=xba --dtag=abx",
        },
    ),
)


# --- Recurrent cells

_CELLS = ("VANILLA_RNN", "VANILLA_LSTM", "VANILLA_GRU", "LBR_GRU", "VANILLA_AUGRU", "LBR_AUGRU")

RECURRENT = (
    Family(
        "rnn",
        {c.lower().removeprefix("vanilla_"): f"--alg={c} l1t4mb16sic64" for c in _CELLS}
        | {
            "lstm both ways": "--alg=VANILLA_LSTM --direction=concat l1t4mb16sic64",
            "lstm projection": "--alg=VANILLA_LSTM --with-projection=true l1t4mb16sic64",
        },
        types("cfg", "f32", "bf16", "bf16f32", "f16")
        | {"u8": f"--cfg=u8u8u8u8{FORWARD}", "s8": f"--cfg=s8s8s8s8{FORWARD}"},
        {"weights any": "--tag=any", "plain": "--tag=abx"},
        ("FWD_I", "FWD_D", "BWD_DW"),
        "prop",
    ),
)


# --- The table of what the matrix tries, in the language of `sycl_dnn.tools.cases`

FAMILIES: dict[str, Family] = {
    family.driver: family for family in (*PRODUCTS, *DATA, *MOVING, *RECURRENT)
}


# --- From the table of families to cells: one case each; equal answers become one row


@dataclass(frozen=True)
class Cell:
    """A case and its place in the tables."""

    kind: str
    types: str
    direction: str
    layout: str
    case: Case

    @property
    def line(self) -> str:
        """The case in benchdnn's language."""
        return self.case.line


def _lines(family: Family) -> Iterator[tuple[tuple[str, str, str, str], str]]:
    for kind, problem in family.kinds.items():
        for types, text in family.types.items():
            options, _, only = text.partition("|")
            for direction in (d for d in family.directions if d.startswith(only)):
                way = f"--{family.option}={direction}" if direction else ""
                for layout, tags in family.layouts.items():
                    line = f"--{family.driver} {way} {options} {tags} {problem}"
                    yield (kind, types, direction, layout), line


def cells(drivers: Iterable[str] = FAMILIES) -> Iterator[Cell]:
    """Iterate over the cells of these drivers.

    Parameters
    ----------
    drivers : iterable of str
        benchdnn's names; all without.

    Raises
    ------
    ValueError
        A name is not a driver of the matrix.
    """
    for driver in drivers:
        if driver not in FAMILIES:
            raise ValueError(f"matrix: drivers must be of {', '.join(FAMILIES)}, got {driver!r}")
        for place, line in _lines(FAMILIES[driver]):
            case = case_of(line)
            if case is not None:
                yield Cell(*place, case)


# --- Merging cells with equal answers into rows

#: Order of merging: fields of a cell.
_ORDER = ("layout", "direction", "types", "kind")
_FIELDS = ("kind", "types", "direction", "layout")

Values = tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """Cells with the same answers: every combination of these names that makes a case."""

    kind: Values
    types: Values
    direction: Values
    layout: Values
    answers: Values


def _merged(rows: list[Row], field: str) -> list[Row]:
    groups: dict[tuple, dict[str, None]] = {}
    for row in rows:
        rest = tuple(() if f == field else getattr(row, f) for f in (*_FIELDS, "answers"))
        groups.setdefault(rest, {}).update(dict.fromkeys(getattr(row, field)))
    results = []
    for rest, values in groups.items():
        parts = dict(zip((*_FIELDS, "answers"), rest, strict=True)) | {field: tuple(values)}
        results.append(Row(**parts))
    return results


def fold(cells: Iterable[tuple[Cell, Values]]) -> list[Row]:
    """Merge cells by layout, then by direction, type and kind.

    Parameters
    ----------
    cells : iterable of (Cell, answers)
        Cells of one driver with an answer for each target.

    Returns
    -------
    list of Row
        In the order of the first cell of each.
    """
    rows = [
        Row((c.kind,), (c.types,), (c.direction,), (c.layout,), answers) for c, answers in cells
    ]
    for field in _ORDER:
        rows = _merged(rows, field)
    return rows
