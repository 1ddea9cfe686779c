# SPDX-License-Identifier: Apache-2.0
"""Architectures of torchvision and timm, converted and compared with torch: a table.

    python tests/torch_modules/architectures.py                      # all, an hour on two cores
    python tests/torch_modules/architectures.py resnet18 vit_tiny_patch16_224
    python tests/torch_modules/architectures.py --table found.jsonl  # the table of what was written

Weights are random. What is random in training (dropout, stochastic depth) is switched off. The
truth is torch in float64; "torch" is torch in float32, whose distance to the truth is the noise
that a right float32 program has. Errors are relative to the norm of the truth: of the outputs in
``eval()``, of all gradients in training (batch statistics and all), of what three steps of AdamW
changed in the parameters. An architecture passes if each error is at most 1e-3, or three times
torch's own; torch's own error of the gradients must be below 0.05, since others say nothing.
Where rounding moves one value past the corner of a ReLU, the gradient jumps, in torch as here: so
one that fails is tried with up to three more inputs, since a wrong formula fails with all of them;
the table has the input that passed.
"""

import argparse
import copy
import json
import time
import warnings

import dpnp
import numpy as np
import torch

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import optim

BATCH, STEPS, TRIES = 8, 3, 4
#: Keeps gradients that are 0 except for rounding (biases before batch norms) from moving anything.
EPS = 1e-4
#: Names, with the size of the images where it is not 64.
TORCHVISION = """
    squeezenet1_1 resnet18 shufflenet_v2_x0_5 mobilenet_v2 mobilenet_v3_small mnasnet0_5
    efficientnet_b0 regnet_y_400mf regnet_x_400mf densenet121 googlenet inception_v3:96
    convnext_tiny swin_t swin_v2_t lraspp_mobilenet_v3_large deeplabv3_mobilenet_v3_large r3d_18
    mc3_18
"""
TIMM = """
    test_vit vit_tiny_patch16_224 deit_tiny_patch16_224 eva02_tiny_patch14_224:56 gmlp_ti16_224
    pit_ti_224 convit_tiny coat_lite_tiny xcit_nano_12_p16_224 crossvit_tiny_240:120 cait_xxs24_224
    visformer_tiny levit_128s mobilevit_xxs mobilevitv2_050 edgenext_xx_small efficientvit_b0
    efficientvit_m0 efficientformerv2_s0 pvt_v2_b0 tiny_vit_5m_224 poolformer_s12 poolformerv2_s12
    convnext_atto convnextv2_atto inception_next_atto mambaout_femto starnet_s1 repvit_m0_9
    fastvit_t8 resnet10t resnet14t resnetv2_18 resnest14d skresnet18 ecaresnet26t dla46_c
    mobilenetv4_conv_small lcnet_035 tinynet_e mobileone_s0 repvgg_a0 fbnetc_100 mnasnet_small
    hardcorenas_a regnetx_002 regnety_002 regnetz_005 nf_regnet_b0 darknet17 ese_vovnet19b_slim_dw
    rexnet_100 gernet_s hgnetv2_b0 mobilenetv3_small_050 efficientnet_es dpn48b botnet26t_256
    lambda_resnet26t gcvit_xxtiny nest_tiny sequencer2d_s swin_tiny_patch4_window7_224
    twins_svt_small maxvit_rmlp_pico_rw_256 coatnet_nano_rw_224 focalnet_tiny_srf davit_tiny
    hiera_tiny_224 hrnet_w18_small res2net50d seresnext26d_32x4d cspresnet50
"""


def rows():
    """Yield library, name and size of the images."""
    for library, names in (("torchvision", TORCHVISION), ("timm", TIMM)):
        for row in names.split():
            name, _, size = row.partition(":")
            yield library, name, int(size or 64)


def made(library, name, size, seed=0):
    """Return a module with random weights, and an input."""
    torch.manual_seed(seed)
    if library == "torchvision":
        import torchvision

        kwargs: dict = {"weights_backbone": None} if "_mobilenet_v3_large" in name else {}
        if name == "inception_v3":
            kwargs = {"aux_logits": False, "init_weights": True}
        net = torchvision.models.get_model(name, weights=None, **kwargs)
        depth = (4,) if name in ("r3d_18", "mc3_18") else ()
        return net, torch.randn(BATCH, 3, *depth, size, size)
    import timm

    try:
        net = timm.create_model(name, img_size=size, num_classes=10)
    except TypeError:
        net = timm.create_model(name, num_classes=10)
    return net, torch.randn(BATCH, 3, size, size)


def without_chance(net):
    """Switch off random operations of training."""
    for part in net.modules():
        if isinstance(part, torch.nn.modules.dropout._DropoutNd) or hasattr(part, "drop_prob"):
            part.__dict__.update(dict.fromkeys({"p", "drop_prob"} & set(vars(part)), 0.0))
        if type(part).__name__ == "StochasticDepth":
            part.p = 0.0
        if isinstance(part, torch.nn.MultiheadAttention):
            part.dropout = 0.0
    return net


def leaves(result):
    if isinstance(result, dict):
        result = list(result.values())
    if not isinstance(result, (tuple, list)):
        return [result]
    return [leaf for value in result for leaf in leaves(value)]


def by_torch(net, *x):
    """Return outputs, gradients and changes of the parameters as float64, and the losses."""
    with torch.no_grad():
        outputs = [v.double().numpy() for v in leaves(copy.deepcopy(net).eval()(*x))]
    net.train()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3, eps=EPS, weight_decay=1e-2)
    before = {n: p.detach().clone() for n, p in net.named_parameters()}
    losses, grads = [], {}
    for _ in range(STEPS):
        opt.zero_grad()
        loss = sum((v**2).mean() for v in leaves(net(*x)))
        loss.backward()
        grads = grads or {
            n: p.grad.double().numpy().copy()
            for n, p in net.named_parameters()
            if p.grad is not None
        }
        opt.step()
        losses.append(loss.item())
    changes = {n: (p.detach() - before[n]).double().numpy() for n, p in net.named_parameters()}
    return outputs, grads, changes, losses


def by_us(net, *x):
    """Return the same for a converted module."""
    x = [dpnp.asarray(v.numpy()) for v in x]
    outputs = [dpnp.asnumpy(v).astype("f8") for v in leaves(net.eval()(*x))]
    net.train()

    def loss(net, *x):
        return sum(F.mean(v * v) for v in leaves(net(*x)))

    opt = optim.AdamW(lr=1e-3, eps=EPS, weight_decay=1e-2)
    state = opt.init(net)
    before = {n: dpnp.asnumpy(p).astype("f8") for n, p in net.named_parameters()}
    losses, grads = [], {}
    for _ in range(STEPS):
        value, found = sycl_dnn.value_and_grad(loss)(net, *x)
        grads = grads or {
            n: dpnp.asnumpy(g).astype("f8") for n, g in found.named_parameters() if g is not None
        }
        net, state = opt.update(found, state, net)
        losses.append(float(value))
    changes = {n: dpnp.asnumpy(p).astype("f8") - before[n] for n, p in net.named_parameters()}
    return outputs, grads, changes, losses


def distance(found, truth):
    """Return the norm of the differences over that of the truth, unless this is 0."""
    if isinstance(truth, dict):
        found, truth = [found[n] for n in truth], list(truth.values())
    above = sum(((a - b) ** 2).sum() for a, b in zip(found, truth, strict=True))
    return float(np.sqrt(above / (sum((b**2).sum() for b in truth) or 1.0)))


def compared(net, *inputs):
    """Return errors of a converted module and of torch in float32."""
    start = time.perf_counter()
    ours = sycl_dnn.from_torch(net, *inputs)
    seconds = time.perf_counter() - start
    wide = [v.double() if v.is_floating_point() else v for v in inputs]
    truth = by_torch(copy.deepcopy(net).double(), *wide)
    torchs = by_torch(copy.deepcopy(net), *inputs)
    mine = by_us(ours, *inputs)
    columns = ("forward", "gradients", "steps", "losses")
    pairs = zip(columns, mine, torchs, truth, strict=True)
    errors = {
        c: (distance(*map(np.asarray, (a, t))), distance(*map(np.asarray, (b, t))))
        if c == "losses"
        else (distance(a, t), distance(b, t))
        for c, a, b, t in pairs
    }
    return {
        "parameters": sum(p.numel() for p in net.parameters()),
        "convert_s": round(seconds, 1),
        "errors": errors,
        "passes": all(errors[c][0] <= max(1e-3, 3 * errors[c][1]) for c in columns[:3])
        and errors["gradients"][1] < 0.05,
    }


HEAD = """| architecture | parameters | forward | gradients | 3 steps of AdamW |
|---|---|---|---|---|"""


def line(row):
    cells = [f"{row['errors'][c][0]:.0e} / {row['errors'][c][1]:.0e}" for c in
             ("forward", "gradients", "steps")]  # fmt: skip
    mark = "" if row["passes"] else " **fails**"
    size = f"{row['parameters'] / 1e6:.1f} M"
    return f"| {row['library']} {row['name']}{mark} | {size} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--output", help="a file of JSON lines to add to")
    parser.add_argument("--table", help="print the table of such a file")
    options = parser.parse_args()
    if options.table:
        with open(options.table, encoding="utf-8") as file:
            print(HEAD, *(line(json.loads(text)) for text in file), sep="\n")
        return
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    known = {row[1]: row for row in rows()}
    failed = [name for name in options.names or known if not is_equal(*known[name], options.output)]
    raise SystemExit(f"failed: {', '.join(failed)}" if failed else 0)


def is_equal(library, name, size, output):
    """Compare one architecture and print its line; return whether it passes."""
    for seed in range(TRIES):
        try:
            net, x = made(library, name, size, seed)
            row = {"library": library, "name": name} | compared(without_chance(net), x)
        except Exception as error:
            print(f"| {library} {name} **{type(error).__name__}: {str(error)[:600]}**", flush=True)
            return False
        sycl_dnn.cache.clear()
        if row["passes"]:
            break
    print(line(row), flush=True)
    if output:
        with open(output, "a", encoding="utf-8") as file:
            print(json.dumps(row | {"inputs": seed + 1}), file=file)
    return row["passes"]


if __name__ == "__main__":
    main()
