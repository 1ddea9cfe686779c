# SPDX-License-Identifier: Apache-2.0
"""Every construct of Python is traced without errors, and never with an outdated global."""

import contextlib
import importlib
import sys
import textwrap

import dpnp
import pytest

import sycl_dnn
from sycl_dnn import functional as F

#: By name: the body of ``f(x)``; ``SCALE`` is a global that changes between calls.
BODIES = {
    "star_arguments": "def g(*a, **k): return a[0] * k['by']\nreturn g(*(x,), **{'by': SCALE})",
    "starred_assignment": "first, *rest = (x, SCALE, 1.0)\nreturn first * rest[0] * rest[-1]",
    "nested_class": "class C:\n    by = SCALE\n    def f(s, x): return x * s.by\nreturn C().f(x)",
    "inherited_class": (
        "class A:\n    def run(self, x): return x * SCALE\n"
        "class B(A):\n    def run(self, x): return super().run(x)\nreturn B().run(x)"
    ),
    "list_comprehension": "return sum([x * SCALE for _ in range(2)]) * 0.5",
    "nested_comprehension": "return [y for y in [[x * s for s in (SCALE,)] for _ in '1'][0]][0]",
    "dict_comprehension": "return {k: x * SCALE for k in 'ab'}['b']",
    "set_comprehension": "return x * max({SCALE * k for k in (0.5, 1.0)})",
    "generator_expression": "return next(iter(y * SCALE for y in (x,)))",
    "generator": "def g():\n    yield x\n    yield from (x * SCALE,)\nreturn list(g())[1]",
    "generator_with_send": (
        "def g():\n    by = yield\n    yield x * by\n"
        "run = g()\nrun.send(None)\nreturn run.send(SCALE)"
    ),
    "lambdas_in_a_table": "return {'a': lambda y: y * SCALE, 'b': lambda y: y}['a'](x)",
    "lambda_with_default": "return (lambda y, by=SCALE: y * by)(x)",
    "walrus": "if (by := SCALE) > 0: return x * by",
    "walrus_in_comprehension": "[last := x * SCALE for _ in range(2)]\nreturn last",
    "match_value": "match SCALE:\n    case 2.0: return x * 2.0\n    case other: return x * other",
    "match_sequence": "match (x, SCALE):\n    case [y, by]: return y * by",
    "match_mapping": "match {'by': SCALE, 'x': x}:\n    case {'by': by, **r}: return r['x'] * by",
    "match_class": "match x:\n    case str(): return x\n    case _ if SCALE > 0: return x * SCALE",
    "try_finally": "try:\n    y = x * SCALE\nfinally:\n    z = 1.0\nreturn y * z",
    "try_except_else": (
        "try:\n    {}['a']\nexcept KeyError as e:\n    y = x * SCALE\nelse:\n    y = x\nreturn y"
    ),
    "try_in_loop": (
        "for i in range(3):\n    try:\n        if i == 1: break\n        continue\n"
        "    finally:\n        y = x * SCALE\nreturn y"
    ),
    "with_statement": "with nullcontext(SCALE) as by, nullcontext():\n    return x * by",
    "with_suppress": "with suppress(KeyError):\n    y = x * SCALE\n    {}['a']\nreturn y",
    "own_context": (
        "@contextmanager\ndef c():\n    yield SCALE\nwith c() as by:\n    return x * by"
    ),
    "nonlocal_inside": "y = x\ndef g():\n    nonlocal y\n    y = y * SCALE\ng()\nreturn y",
    "global_written": "global COUNT\nCOUNT = COUNT + 1\nreturn x * SCALE",
    "global_deleted": "global GONE\nGONE = 1\ndel GONE\nreturn x * SCALE",
    "deleted_local": "y = x * SCALE\nz = y\ndel y\nreturn z",
    "deleted_cell": "y = x * SCALE\ndef g(): return y\nz = g()\ndel y\nreturn z",
    "deleted_item": "t = {'a': x, 'b': x * SCALE}\ndel t['a']\nreturn t['b']",
    "while_else": "i = 0\nwhile i < 2: i += 1\nelse: y = x * SCALE\nreturn y",
    "chained_comparison": "return x * SCALE if 0 < SCALE < 100 else x",
    "formatted_text": "return x * float(f'{SCALE:.1f}')",
    "assertion": "assert SCALE > 0, 'no scale'\nreturn x * SCALE",
    "annotations": "y: object = x\nby: 'float' = SCALE\nreturn y * by",
    "recursion": "def g(y, n): return y * SCALE if n == 0 else g(y, n - 1)\nreturn g(x, 3)",
    "decorated": "def d(g): return lambda y: g(y)\n@d\ndef g(y): return y * SCALE\nreturn g(x)",
    "default_of_inner": "def g(y, *, by=SCALE): return y * by\nreturn g(x)",
    "partial_call": "return partial(lambda by, y: y * by, SCALE)(x)",
    "reduced": "return reduce(lambda a, b: a * b, (x, SCALE))",
    "sorted_by_key": "return sorted([(SCALE, x)], key=lambda p: p[0])[0][1] * SCALE",
    "own_dataclass": (
        "@dataclass\nclass D:\n    by: float = 1.0\n    def run(self, y): return y * self.by\n"
        "return D(SCALE).run(x)"
    ),
    "own_property": (
        "class P:\n    @property\n    def by(self): return SCALE\n"
        "    @staticmethod\n    def s(y): return y\n    @classmethod\n    def c(cls, y): return y\n"
        "return P.c(P.s(x)) * P().by"
    ),
    "slices_and_augmented": "y = [x * 1, x]\ny[0] *= SCALE\nreturn y[:1][0]",
    "unpacked_calls": "return F.mul(*[x], **{'other': SCALE})" ,
    "conditional_import": "if SCALE < 0: import a_module_that_is_missing\nreturn x * SCALE",
    "guarded_import": (
        "try:\n    import a_module_that_is_missing as m\nexcept ImportError:\n    m = None\n"
        "return x * SCALE if m is None else x"
    ),
    "import_from_package": "from . import scale\nreturn x * scale",
    "import_from_sibling": "from .values import SCALE as by\nreturn x * by",
    "import_of_sibling": "from . import values\nreturn x * values.SCALE",
    "import_of_late_sibling": "from . import late\nreturn x * late.one * SCALE",
    "import_beyond_package": (
        "try:\n    from .... import nothing\nexcept ImportError:\n    return x * SCALE"
    ),
    "import_with_name": "import code_package.values as v\nreturn x * v.SCALE",
    "import_of_part": "import code_package.values\nreturn x * code_package.values.SCALE",
    "import_of_package_value": "import code_package.values\nreturn x * code_package.scale",
    "import_of_several": "from .values import (SCALE as by, one)\nreturn x * by * one",
    "import_that_fails": (
        "try:\n    from . import broken\nexcept RuntimeError:\n    return x * SCALE"
    ),
    "shadowed_submodule": "from . import shadow\nreturn shadow(x) * SCALE",
    "import_of_library": "import numpy as np\nreturn x * float(np.float32(SCALE))",
    "import_of_functions": "from sycl_dnn import functional as G\nreturn G.mul(x, SCALE)",
}  # fmt: skip
#: Functions of a package inside the package.
INNER = """
def import_from_parent(x):
    from ..values import SCALE as by
    return x * by


def import_of_parent(x):
    from .. import values, scale
    return x * scale * values.one
"""
IN_INNER = ["import_from_parent", "import_of_parent"]
PRELUDE = """
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial, reduce

from sycl_dnn import functional as F

from .inner import import_from_parent, import_of_parent

SCALE = 2.0
COUNT = 0
"""
FILES = {
    "__init__.py": "scale = 2.0\none = 1.0\n\n\ndef shadow(x):\n    return x\n",
    "values.py": "SCALE = 2.0\none = 1.0\n",
    "late.py": "one = 1.0\n",
    "broken.py": "raise RuntimeError('broken')\n",
    "shadow.py": "raise RuntimeError('a submodule that the attribute hides')\n",
}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """Return the module that has a function for each body."""
    folder = tmp_path_factory.mktemp("code")
    (folder / "code_package/inner").mkdir(parents=True)
    bodies = "".join(
        f"\n\ndef {name}(x):\n{textwrap.indent(body, '    ')}\n" for name, body in BODIES.items()
    )
    for name, text in {**FILES, "inner/__init__.py": INNER, "bodies.py": PRELUDE + bodies}.items():
        (folder / "code_package" / name).write_text(text)
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("code_package.bodies")
    finally:
        sys.path.remove(str(folder))
        for name in [n for n in sys.modules if n.split(".")[0] == "code_package"]:
            del sys.modules[name]


@pytest.fixture
def ones(queue):
    return lambda *shape: dpnp.ones(shape, dtype="f4", sycl_queue=queue)


WAYS = {
    "compile": sycl_dnn.compile,
    "vjp": lambda f: lambda x: sycl_dnn.vjp(f, x)[0],
    "compiled_grad": lambda f: sycl_dnn.compile(sycl_dnn.grad(lambda x: F.sum(f(x)))),
    "plan": lambda f: lambda x: sycl_dnn.plan(f, x)(),
}


def _scaled_by(package, value):
    package.SCALE = value
    importlib.import_module("code_package.values").SCALE = value
    sys.modules["code_package"].scale = value


@pytest.mark.sweep(4)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [*BODIES, *IN_INNER])
def test_every_construct(package, ones, name, way):
    x = ones(3)
    _scaled_by(package, 2.0)
    function = getattr(package, name)
    transformed = WAYS[way](function)
    for scale in (2.0, 2.0, 3.0, 2.0):
        _scaled_by(package, scale)
        assert transformed(x).asnumpy().tolist() == [scale] * 3
    with contextlib.suppress(AttributeError):
        del package.GONE
