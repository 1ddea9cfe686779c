# SPDX-License-Identifier: Apache-2.0
"""Hints for names of torch's training loops that do not exist here."""

from __future__ import annotations

_STEP = "value, grads = sycl_dnn.value_and_grad(loss)(net, x); opt.step(net, grads)"
_GRADIENTS = "value, grads = sycl_dnn.value_and_grad(loss)(net, x)"
_SCHEDULE = "opt = optim.AdamW(optim.schedules.{})"
_DENSE = "arrays are dense here: F.index_put(F.zeros(*shape), indices, values, accumulate=True)"
_INIT = "opt = optim.Adam(lr=1e-3); state = opt.init(net)"

#: Names that an object lacks, and replacements.
_LINES: dict[str, dict[str, str]] = {
    "array": {
        **dict.fromkeys(
            ("backward", "grad", "grad_fn", "is_leaf", "requires_grad", "retain_grad"),
            f"gradients are values here: {_GRADIENTS}",
        ),
        "register_hook": "gradients are values here: change what sycl_dnn.value_and_grad returns",
        **dict.fromkeys(
            (
                "coalesce",
                "indices",
                "sparse_mask",
                "to_dense",
                "to_sparse",
                "to_sparse_csr",
                "values",
            ),
            "arrays are dense here, and F.mm multiplies them",
        ),
    },
    "optimizer": {
        "zero_grad": f"gradients are new values at each call: {_STEP}",
        "param_groups": "options of groups are given once: optim.AdamW(1e-3, groups=[(lambda name: "
        "'bias' in name, {'weight_decay': 0.0})]); the rate is opt.lr or a schedule",
        "add_param_group": "optim.AdamW(1e-3, groups=[(lambda name: 'bias' in name, "
        "{'lr': 1e-4})])",
        "state_dict": "the state is a tree: opt.state_of(net), saved by sycl_dnn.save(path, state)",
        "load_state_dict": "opt.load_state(net, sycl_dnn.load(path))",
        "state": "the state is a tree: opt.state_of(net)",
        **dict.fromkeys(
            ("capturable", "differentiable", "foreach", "fused"),
            "leave it out: each step is one program of fused kernels, with gradients of its own",
        ),
    },
    "scaler": {
        "step": "net, state, scale = scaler.update(opt, grads, state, net, scale)",
        "unscale_": "grads, is_finite = scaler.unscale(grads, scale)",
        "get_scale": 'float(scale["scale"])',
        "state_dict": "the scale is a tree: sycl_dnn.save(path, scale)",
        "load_state_dict": "the scale is a tree: scale = sycl_dnn.load(path)",
    },
    "optim": {
        "swa_utils": "average = optim.EMA(0.999); mean = average.init(net); mean = "
        "average.update(mean, net), or optim.SWA",
        "SparseAdam": "gradients are dense here: optim.Adam(1e-3), or optim.SGD",
    },
    "schedules": {
        "ConstantLR": _SCHEDULE.format("joined([constant(1e-3 / 3), constant(1e-3)], [5])"),
        "LinearLR": _SCHEDULE.format("linear(1e-3 / 3, 1e-3, 5)"),
        "StepLR": _SCHEDULE.format("step_decay(1e-3, 30, 0.1)"),
        "MultiStepLR": _SCHEDULE.format("multi_step(1e-3, [30, 80], 0.1)"),
        "ExponentialLR": _SCHEDULE.format("exponential(1e-3, 0.9)"),
        "PolynomialLR": _SCHEDULE.format("polynomial(1e-3, 0.0, 100)"),
        "CosineAnnealingLR": _SCHEDULE.format("cosine(1e-3, 100)"),
        "CosineAnnealingWarmRestarts": _SCHEDULE.format("cosine_restarts(1e-3, 10, 2)"),
        "CyclicLR": _SCHEDULE.format("cyclic(1e-4, 1e-3, 2000)"),
        "OneCycleLR": _SCHEDULE.format("one_cycle(1e-3, 100)"),
        "LambdaLR": "any function of the step is a rate: optim.AdamW(lambda step: 1e-3 * f(step))",
        "MultiplicativeLR": "any function of the step is a rate: optim.AdamW(lambda step: ...)",
        "SequentialLR": _SCHEDULE.format("joined([first, second], [10])"),
        "ChainedScheduler": "optim.AdamW(lambda step: first(step) * second(step) / 1e-3)",
        "SWALR": _SCHEDULE.format("joined([before, cosine(1e-3, 10, 1e-4)], [100])"),
        "ReduceLROnPlateau": "plateau = optim.schedules.Plateau(1e-3); state = plateau.init(); "
        "state = plateau.update(state, loss); opt.update(grads, opt_state, net, lr=state['rate'])",
    },
    "data": {
        **dict.fromkeys(
            (
                "DataLoader",
                "Dataset",
                "IterableDataset",
                "Sampler",
                "Subset",
                "TensorDataset",
                "random_split",
            ),
            "for x, y in data.Batches((images, labels), 32): ..., or torch_names.utils.data",
        ),
    },
    "nn": {
        **{
            f"Lazy{name}": f"sizes are given here: nn.{name}(size of the input, ...)"
            for name in (
                "Linear",
                *(f"Conv{kind}{n}d" for kind in ("", "Transpose") for n in (1, 2, 3)),
                *(f"{kind}Norm{n}d" for kind in ("Batch", "Instance") for n in (1, 2, 3)),
            )
        },
        **{
            f"FractionalMaxPool{n}d": "windows are not drawn here: nn.AdaptiveMaxPool"
            f"{n}d has windows of different sizes, too"
            for n in (2, 3)
        },
        "LinearCrossEntropyLoss": "F.cross_entropy(F.linear(x, weight, bias), target)",
        "SyncBatchNorm": "sycl_dnn.distributed has it",
        "parallel": "sycl_dnn.distributed averages the gradients of processes",
    },
    "module": {"zero_grad": f"gradients are new values at each call: {_STEP}"},
    "torch": {
        **dict.fromkeys(
            ("DistributedSampler", "distributed", "multiprocessing"),
            "sycl_dnn.distributed trains in several processes (docs/distributed.md)",
        ),
        **dict.fromkeys(
            ("detect_anomaly", "set_detect_anomaly"), "with sycl_dnn.debug_nans(): ..."
        ),
        **dict.fromkeys(
            ("set_default_device", "set_default_tensor_type"),
            "arrays are float32, on sycl_dnn.default_queue(): dtype= and device= choose others",
        ),
        **dict.fromkeys(
            ("get_num_threads", "set_num_threads"),
            "leave it out: taskset -c 0-7 python ... limits the cores of a CPU",
        ),
        "GradScaler": "scaler = optim.GradScaler(); scale = scaler.init()",
        "backward": f"gradients are values here: {_GRADIENTS}",
        "export": "sycl_dnn.onnx.export writes ONNX files, and sycl_dnn.from_torch converts",
        "fx": "modules are not rewritten: register_forward_hook, or another forward",
        "is_grad_enabled": f"leave it out; gradients are values here: {_GRADIENTS}",
        "onnx": "sycl_dnn.onnx.export",
        "profiler": "with sycl_dnn.profile() as profile: ...",
        "quantization": "sycl_dnn.quantize",
        "tensorboard": "import SummaryWriter from the package tensorboardX",
        "trace": "@sycl_dnn.compile",
        **dict.fromkeys(("sparse", "sparse_coo_tensor", "sparse_csr_tensor"), _DENSE),
        "as_strided": "arrays share no storage that strides could read: x.unfold, F.narrow, "
        "F.diagonal, F.take of flat indices",
        **dict.fromkeys(
            ("gammainc", "gammaincc", "igamma", "igammac"),
            "scipy.special.gammainc and gammaincc of x.asnumpy()",
        ),
    },
    "sycl_dnn": {
        "amp": 'with sycl_dnn.autocast("bfloat16"): ...; optim.GradScaler',
        "utils": "sycl_dnn.data.Batches and Prefetcher for torch.utils.data, sycl_dnn.checkpoint "
        "for torch.utils.checkpoint",
        "autograd": "sycl_dnn.value_and_grad, sycl_dnn.grad, sycl_dnn.vjp, sycl_dnn.jvp, "
        "sycl_dnn.hvp, sycl_dnn.jacobian, sycl_dnn.hessian; sycl_dnn.custom_vjp",
        "func": "sycl_dnn.grad, sycl_dnn.vjp, sycl_dnn.jvp, sycl_dnn.jacobian, sycl_dnn.hessian",
        **dict.fromkeys(("jacrev", "jacfwd"), "sycl_dnn.jacobian"),
        "jit": "@sycl_dnn.compile",
        "cuda": "arrays are on the device of their queue: sycl_dnn.default_queue()",
        "xpu": "arrays are on the device of their queue: sycl_dnn.default_queue()",
    },
}


def hint(where: str, name: str) -> str:
    """Return the end of a message, ``; `` and what to write for a name of torch; else ''."""
    # Most functions of torch are methods of its tensors, too.
    line = _LINES[where].get(name) or (_LINES["torch"].get(name) if where == "array" else None)
    return "" if line is None else f"; {line}"


def missing(where: str, owner: str, name: str) -> AttributeError:
    """Return the AttributeError for an attribute that ``owner`` lacks."""
    return AttributeError(f"{owner} has no attribute {name!r}{hint(where, name)}")


def wrong_rate(optimizer: str, got: object) -> TypeError:
    """Return the error for an optimizer that receives parameters in place of the rate."""
    init = _INIT.replace("Adam", optimizer)
    return TypeError(
        f"{optimizer}: lr must be a number or a schedule, got {type(got).__name__}; the parameters "
        f"are those of the call: {init}; net, state = opt.update(grads, state, net), or in place "
        f"opt.step(net, grads)"
    )


def wrong_step(optimizer: str) -> TypeError:
    """Return the error for ``opt.step()`` without arguments."""
    return TypeError(f"{optimizer}.step: module and grads must be given: {_STEP}")


def wrong_gradients(name: str, kind: str) -> TypeError:
    """Return the error for parameters passed as gradients."""
    return TypeError(
        f"{name}: grads must be a tree of gradients, got {kind}; {_GRADIENTS}; then "
        f"{name}(grads, ...)"
    )
