# SPDX-License-Identifier: Apache-2.0
"""Parameters of registered modules that a forward reaches indirectly through attributes."""

import copy
import itertools
import textwrap

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim


class Caller:
    def __init__(self, module):
        self.module = module

    def __call__(self, x):
        return self.module(x)


class Slotted:
    __slots__ = ("module",)

    def __init__(self, module):
        self.module = module

    def call(self, x):
        return self.module(x)


#: By name: statements that give ``net`` a callable through which its forward reaches the layer.
WAYS = {
    "closure": "layer = net.layer; net.run = lambda x: layer(x)",
    "own closure": "net.run = lambda x: net.layer(x)",
    "default": "net.run = lambda x, layer=net.layer: layer(x)",
    "keyword default": "net.run = lambda x, *, layer=net.layer: layer(x)",
    "partial": "net.run = functools.partial(lambda layer, x: layer(x), net.layer)",
    "bound method": "net.run = net.layer.forward",
    "own method in a table": (
        "net.table = {'x': [net.one]}; net.run = lambda x: net.table['x'][0](x)"),
    "instance": "net.run = Caller(net.layer)",
    "slots": "net.run = Slotted(net.layer).call",
    "weak reference": "found = weakref.ref(net.layer); net.run = lambda x: found()(x)",
    "weak proxy": "net.run = Caller(weakref.proxy(net.layer))",
    "weak proxy as an attribute": "net.weak = weakref.proxy(net.layer); net.run = net.weak.forward",
    "weak proxy that is called": (
        "net.weak = weakref.proxy(net.layer); net.run = lambda x: net.weak(x)"),
    "set": "found = {net.layer}; net.run = lambda x: next(iter(found))(x)",
    "container": (
        "parts = net.parts = nn.ModuleDict({'a': net.layer}); net.run = lambda x: parts['a'](x)"),
    "decorator": "net.run = functools.wraps(net.layer.forward)(around(net.layer.forward))",
    "recursion": (
        "layer = net.layer\n"
        "def run(x, depth=2): return run(x, depth - 1) if depth else layer(x)\nnet.run = run"),
    "compiled layer": "net.run = sycl_dnn.compile(net.layer)",
    "compiled method": "net.run = sycl_dnn.compile(net.one)",
    "compiled closure in a list": "net.table = [sycl_dnn.compile(lambda x: net.layer(x))]; "
    "net.run = lambda x: net.table[0](x)",
    "method compiled in its class": "net.run = net.fast",
    "mapped compiled layer": "net.run = sycl_dnn.vmap(sycl_dnn.compile(net.layer))",
    "checkpoint of a layer": "net.run = sycl_dnn.checkpoint(net.layer)",
    "cache": "found = functools.cache(lambda: net.layer); net.run = lambda x: found()(x)",
    "namespace": (
        "net.names = types.SimpleNamespace(a=net.layer); net.run = lambda x: net.names.a(x)"),
    "user dict": (
        "names = net.names = collections.UserDict(a=net.layer); net.run = lambda x: names['a'](x)"),
    "chain map": (
        "names = collections.ChainMap({'a': net.layer}); net.run = lambda x: names['a'](x)"),
    "wrapper of a module": "net.run = functools.wraps(net.layer)(around(net.layer))",
    "unregistered module": "outer = nn.Sequential(net.layer); net.run = lambda x: outer(x)",
}  # fmt: skip


def around(function):
    return lambda *args: function(*args)


def by(name):
    """Return a function that gives a module the callable of a row."""
    scope = dict(globals())
    text = textwrap.indent((WAYS | OPAQUE)[name].replace("; ", "\n"), "    ")
    exec(f"import collections, functools, itertools, types, weakref\ndef way(net):\n{text}", scope)
    return scope["way"]


class Net(nn.Module):
    def __init__(self, way):
        super().__init__()
        self.layer = nn.Linear(3, 2)
        way(self)

    def one(self, x):
        return self.layer(x)

    @sycl_dnn.compile
    def fast(self, x):
        return self.layer(x)

    def forward(self, x):
        return self.run(x)


def loss(net, x):
    return F.sum(F.square(net(x)))


@pytest.fixture
def x():
    return F.randn(4, 3)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.sweep(2)
def test_indirectly_reached_parameters_have_gradients_of_the_plain_layer(way, x):
    net = Net(by(way))
    want = sycl_dnn.grad(lambda w, b: F.sum(F.square(F.linear(x, w, b))), argnums=(0, 1))(
        net.layer.weight, net.layer.bias
    )
    _, by_value = sycl_dnn.value_and_grad(loss)(net, x)
    found, pullback = sycl_dnn.vjp(loss, net, x)
    by_pullback = pullback(F.ones_like(found))[0]
    compiled = sycl_dnn.compile(lambda net, x: sycl_dnn.value_and_grad(loss)(net, x)[1])(net, x)
    for grads in (by_value, by_pullback, compiled):
        for actual, expected in zip((grads.layer.weight, grads.layer.bias), want, strict=True):
            np.testing.assert_allclose(dpnp.asnumpy(actual), dpnp.asnumpy(expected), 1e-5, 1e-5)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.sweep(2)
def test_indirectly_reached_parameters_are_trained(way, x):
    net, opt = Net(by(way)), optim.SGD(0.01)

    @sycl_dnn.compile
    def step(net, state, x):
        value, grads = sycl_dnn.value_and_grad(loss)(net, x)
        return value, *opt.update(grads, state, net)

    state, values = opt.init(net), []
    for _ in range(3):
        value, net, state = step(net, state, x)
        values.append(float(value))
    value, grads = sycl_dnn.value_and_grad(loss)(net, x)
    optim.SGD(0.01).step(net, grads)
    values += [float(value), float(loss(net, x))]
    assert values == sorted(set(values), reverse=True)


@pytest.mark.parametrize("way", WAYS)
def test_copies_have_their_own_parameters(way, x):
    net = Net(by(way))
    other = copy.deepcopy(net)
    other.load_state_dict({n: v * 0 for n, v in other.state_dict().items()})
    assert float(loss(other, x)) == 0
    assert float(loss(net, x)) > 0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.sweep(3)
def test_other_parameters_of_the_same_form_are_the_copys(way, x):
    net = Net(by(way))
    other = sycl_dnn.tree.map(lambda p: p * 0, net)
    compiled = sycl_dnn.compile(loss)
    assert float(loss(net, x)) > 0
    assert float(compiled(net, x)) > 0
    assert float(compiled(other, x)) == float(loss(other, x)) == 0


def test_functions_with_gradients_of_their_own_are_the_copys(x):
    def way(net):
        net.run = sycl_dnn.custom_vjp(net.layer)
        net.run.defvjp(lambda x: (net.layer(x), net.layer.weight), lambda w, dy: (2 * dy @ w,))

    net = Net(way)
    other = sycl_dnn.tree.map(lambda p: p * 0 + 1, net)
    slope = sycl_dnn.grad(lambda x, net: F.sum(net(x)))(x, other)
    np.testing.assert_allclose(dpnp.asnumpy(slope), 4)


def test_closure_variables_are_shared_with_copies(x):
    seen = []

    def way(net):
        layer = net.layer
        net.run = lambda x: (seen.append(x.shape), layer(x))[1]

    sycl_dnn.value_and_grad(loss)(Net(way), x)
    assert seen
    assert set(seen) == {(4, 3)}


def by_array_of_a_parameter(net):
    weight = dpnp.ones((2, 3), dtype="f4")
    net.layer.weight = nn.Parameter(weight)
    net.run = lambda x: F.linear(x, weight)


SHARED = nn.Linear(3, 2)


def by_global(net):
    net.layer = SHARED
    net.run = lambda x: SHARED(x)


def read_global(x):
    return F.linear(x, SHARED.weight)


def by_parameter_of_a_global(net):
    net.layer = SHARED
    net.run = read_global


class OfClass(nn.Module):
    shared = nn.Linear(3, 2)

    def __init__(self):
        super().__init__()
        self.layer = OfClass.shared

    def forward(self, x):
        return OfClass.shared(x)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Net(by_array_of_a_parameter), r"run: a callable must hold modules, not the arr"),
        (lambda: Net(by_global), r"the parameter layer\.weight must be reached through self"),
        (lambda: Net(by_parameter_of_a_global), r"layer\.weight must be reached through self"),
        (OfClass, r"layer\.weight must be reached through self"),
    ],
)
def test_parameters_that_no_gradient_would_reach_are_refused_by_name(make, message, x):
    with pytest.raises(TypeError, match=message):
        sycl_dnn.value_and_grad(loss)(make(), x)


#: Objects that cannot be decomposed, and how a forward reaches the layer through them.
OPAQUE = {
    "weak set": "net.names = weakref.WeakSet([net.layer]); net.run = lambda x: [*net.names][0](x)",
    "array of objects": (
        "net.names = np.array([net.layer, None]); net.run = lambda x: net.names[0](x)"),
    "key": "net.names = {net.layer: 1}; net.run = lambda x: next(iter(net.names))(x)",
    "attribute of a function": (
        "def of(x): return of.own(x)\nof.own = net.layer; net.run = lambda x: of(x)"),
    "attribute of a class": (
        "net.kind = type('Kind', (), {'own': net.layer}); net.run = lambda x: net.kind.own(x)"),
}  # fmt: skip


@pytest.mark.parametrize("way", OPAQUE)
def test_objects_that_are_not_copied_are_refused_where_they_would_lead_to_old_parameters(way, x):
    net = Net(by(way))
    assert float(loss(net, x)) == pytest.approx(float(sycl_dnn.compile(loss)(net, x)))
    other = sycl_dnn.tree.map(lambda p: p * 0, net)
    for call in (sycl_dnn.compile(sycl_dnn.grad(loss)), sycl_dnn.grad(loss)):
        with pytest.raises(TypeError, match=r"layer\.weight must be reached through self"):
            call(net, x)
    for call in (loss, sycl_dnn.compile(loss)):
        with pytest.raises(TypeError, match=r"layer\.weight must be reached through self"):
            call(other, x)


def test_an_iterator_of_layers_is_refused(x):
    def layers_of(net):
        layers = itertools.repeat(net.layer)
        net.run = lambda x: next(layers)(x)

    net = Net(layers_of)
    with pytest.raises(TypeError, match=r"layer\.weight must be reached through self"):
        loss(net, x)
    with pytest.raises(TypeError, match="must not read the iterator 'layers'"):
        sycl_dnn.compile(loss)(net, x)


def test_a_copy_cannot_reach_old_parameters_by_its_own_class(x):
    net = OfClass()
    other = sycl_dnn.tree.map(lambda p: p * 0, net)
    for call in (loss, sycl_dnn.compile(loss)):
        assert float(call(net, x)) > 0
        with pytest.raises(TypeError, match=r"layer\.weight must be reached through self"):
            call(other, x)


def test_globals_are_refused_in_compiled_gradients(x):
    with pytest.raises(TypeError, match=r"layer\.weight must be reached through self"):
        sycl_dnn.compile(sycl_dnn.grad(loss))(Net(by_global), x)


def test_a_loss_may_hold_the_module_that_it_is_a_function_of(x):
    net = nn.Linear(3, 2)

    def distance(other):
        return F.sum(F.square(other.weight - net.weight)) + F.sum(other(x) - net(x))

    grads = sycl_dnn.grad(distance)(net)
    np.testing.assert_allclose(dpnp.asnumpy(grads.bias), [4, 4])


def test_changed_attributes_of_classes_are_seen(x):
    class Scaled(nn.Module):
        factor, table = 2.0, {"bias": 0.0}

        def scaled(self, x):
            return x * self.factor

        def forward(self, x):
            return self.scaled(x) + self.table["bias"]

    class Derived(Scaled):
        pass

    net, by_argument = Derived(), sycl_dnn.compile(lambda net, x: net(x))
    ways = {
        "call": net,
        "argument": lambda x: by_argument(net, x),
        "compiled": sycl_dnn.compile(net),
    }

    def check(factor, bias):
        for name, call in ways.items():
            found, wanted = call(x).asnumpy(), x.asnumpy() * factor + bias
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6, err_msg=name)

    check(2, 0)
    Scaled.factor = 3.0
    check(3, 0)
    Scaled.table["bias"] = 1.0
    check(3, 1)
    Derived.factor = 5.0
    check(5, 1)
    Scaled.scaled = lambda self, x: x - self.factor
    check(1, -4)
