# SPDX-License-Identifier: Apache-2.0
"""Cases of the six recurrent cells: every direction, several layers, with and without states."""

from dataclasses import replace
from typing import NamedTuple

from .case import Case, backward_of

GATES = {"vanilla_rnn": 1, "lstm": 4, "gru": 3, "lbr_gru": 3, "augru": 3, "lbr_augru": 3}
LEFT, RIGHT = "unidirectional_left2right", "unidirectional_right2left"
CONCAT, SUM = "bidirectional_concat", "bidirectional_sum"

AUGRU_FAULT = (
    "oneDNN's AUGRU backward leaves the attention out of the update gate that it differentiates; "
    "with attention 0 only the gradient in the attention is wrong, else all gradients are."
)
NO_STATE_FAULT = (
    "Without src_iter, oneDNN's backward of vanilla_rnn and lstm from left to right takes the "
    "first output for the initial state; src_iter given as zeros is right."
)


class Net(NamedTuple):
    """Sizes of a network, see the reference; a plain one has DIC = SIC = DHC."""

    steps: int
    samples: int
    layers: int
    slc: int
    dhc: int
    direction: str = LEFT
    states: bool = True
    inference: bool = False
    sic: int = 0
    dic: int = 0
    peephole: bool = False
    projection: bool = False
    activation: str = "tanh"
    alpha: float = 0.0


COMMON = {
    "one_step": Net(1, 2, 1, 4, 4),
    "unequal": Net(3, 2, 1, 5, 7),
    "long": Net(9, 3, 1, 3, 5),
    "right2left": Net(4, 2, 1, 3, 5, RIGHT),
    "concat": Net(3, 2, 1, 3, 4, CONCAT),
    "sum": Net(3, 3, 1, 5, 4, SUM),
    "layers": Net(4, 2, 3, 4, 4),
    "layers_right2left": Net(3, 2, 2, 5, 5, RIGHT),
    "layers_concat": Net(3, 2, 2, 4, 4, CONCAT),
    "layers_sum": Net(3, 2, 3, 3, 3, SUM),
    "no_states": Net(4, 2, 2, 6, 6, states=False),
    "no_states_right2left": Net(4, 2, 1, 3, 5, RIGHT, states=False),
    "no_states_concat": Net(3, 2, 2, 4, 4, CONCAT, states=False),
    "ones": Net(1, 1, 1, 1, 1),
    "wide": Net(2, 5, 1, 16, 32),
    "inference": Net(4, 2, 2, 8, 8, inference=True),
    "inference_concat": Net(3, 3, 1, 7, 8, CONCAT, inference=True),
}
OWN = {
    "vanilla_rnn": {
        "relu": Net(3, 2, 1, 4, 5, activation="relu"),
        "leaky_relu": Net(3, 2, 2, 4, 4, activation="relu", alpha=0.25),
        "logistic": Net(3, 2, 2, 4, 4, CONCAT, activation="logistic"),
        "other_state": Net(1, 2, 1, 4, 5, sic=3),
    },
    "lstm": {
        "peephole": Net(3, 2, 1, 4, 5, peephole=True),
        "peephole_concat": Net(3, 2, 2, 4, 4, CONCAT, peephole=True),
        "projection": Net(3, 2, 1, 4, 6, sic=3, dic=3, projection=True),
        "projection_layers": Net(3, 2, 2, 3, 5, SUM, sic=3, dic=3, projection=True),
        "peephole_projection": Net(3, 2, 1, 4, 5, sic=3, dic=3, peephole=True, projection=True),
        "projection_no_states": Net(3, 2, 1, 4, 6, states=False, sic=3, dic=3, projection=True),
        "projection_inference": Net(3, 2, 1, 4, 8, inference=True, sic=5, dic=5, projection=True),
    },
}
# oneDNN has AUGRU from left to right with one layer only.
ATTENTIVE = {
    "one_step": Net(1, 2, 1, 4, 4),
    "unequal": Net(3, 2, 1, 5, 7),
    "long": Net(9, 3, 1, 3, 5),
    "no_states": Net(4, 2, 1, 6, 6, states=False),
    "ones": Net(1, 1, 1, 1, 1),
    "wide": Net(2, 5, 1, 16, 32),
    "inference": Net(4, 2, 1, 8, 8, inference=True),
}


def _shapes(cell, net):
    """Dims of all forward tensors."""
    t, n, layers, slc, dhc = net[:5]
    sic, dic = net.sic or dhc, net.dic or dhc
    d = 1 if net.direction in (LEFT, RIGHT) else 2
    gates = GATES[cell]
    shapes = {
        "src_layer": (t, n, slc),
        "weights_layer": (layers, d, slc, gates, dhc),
        "weights_iter": (layers, d, sic, gates, dhc),
        "bias": (layers, d, gates + cell.startswith("lbr"), dhc),
        "dst_layer": (t, n, 2 * dic if net.direction == CONCAT else dic),
    }
    if cell.endswith("augru"):
        shapes["augru_attention"] = (t, n, 1)
    if net.states:
        shapes |= {"src_iter": (layers, d, n, sic), "dst_iter": (layers, d, n, dic)}
    if net.states and cell == "lstm":
        shapes |= dict.fromkeys(("src_iter_c", "dst_iter_c"), (layers, d, n, dhc))
    if net.peephole:
        shapes["weights_peephole"] = (layers, d, 3, dhc)
    if net.projection:
        shapes["weights_projection"] = (layers, d, dhc, dic)
    return shapes


def _forward(cell, name, net):
    params = {"prop_kind": "forward_inference" if net.inference else "forward_training"}
    params["direction"] = net.direction
    if cell == "vanilla_rnn":
        params |= {"activation": f"eltwise_{net.activation}", "alpha": net.alpha}
    ranges = {"augru_attention": (0.0, 1.0)} if cell.endswith("augru") else {}
    return Case(name, f"{cell}_forward", params, _shapes(cell, net), ranges=ranges)


def _backward(case):
    """Reads all tensors of the forward run; writes the gradient of each of its inputs."""
    shapes = case.shapes | {f"diff_{name}": dims for name, dims in case.shapes.items()}
    params = case.params | {"prop_kind": "backward"}
    row = case.row.replace("forward", "backward")
    backward = backward_of(case, row, shapes, params)
    if "augru_attention" in shapes:
        return replace(backward, fault=AUGRU_FAULT, faulty=backward.output_names)
    reset = row.endswith("gru_backward")
    if "src_iter" not in shapes and params["direction"] == LEFT and not reset:
        return replace(backward, fault=NO_STATE_FAULT, faulty=("diff_weights_iter",))
    return backward


def _without_attention(case):
    """Attention 0 makes an AUGRU a GRU, whose gradients oneDNN gets right."""
    ranges, faulty = {"augru_attention": (0.0, 0.0)}, ("diff_augru_attention",)
    return replace(case, name=f"{case.name}_attention_0", ranges=ranges, faulty=faulty)


def _cell_cases(cell):
    attentive = cell.endswith("augru")
    nets = ATTENTIVE if attentive else COMMON | OWN.get(cell, {})
    forward = [_forward(cell, name, net) for name, net in nets.items()]
    trained = [case for case in forward if case.params["prop_kind"] == "forward_training"]
    backward = [_backward(case) for case in trained]
    if attentive:
        backward += [_without_attention(case) for case in backward]
    return {f"{cell}_forward": forward, f"{cell}_backward": backward}


CASES = {}
for _cell in GATES:
    CASES |= _cell_cases(_cell)
