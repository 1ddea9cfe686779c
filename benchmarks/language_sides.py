# SPDX-License-Identifier: Apache-2.0
"""One engine of language_models.py in its own process.

``python language_sides.py ENGINE MODEL`` reads lines of three numbers, prompts, tokens of each and
new tokens, and answers each with the seconds that generating took, and those of CPU time.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

#: ``run(prompts (N, T), count)`` generates ``count`` tokens after each prompt, greedily.
Run = Callable[[np.ndarray, int], Any]
#: Positions of a text.
_CONTEXT = 1024
_THREADS = 2


def sycl_dnn_side(model: str, dtype: str) -> Run:
    """Return the runner of this package."""
    from sycl_dnn import llm
    from sycl_dnn.llm import Sampling

    # Without a tokenizer, and its end of text: every engine generates all tokens.
    generator = llm.load(model, dtype=dtype)._generator
    return lambda prompts, count: list(generator.tokens(prompts.tolist(), count, Sampling()))


def openvino_side(model: str, precision: str) -> Run:
    """Return the runner of openvino-genai, without its cache of prefixes."""
    import openvino as ov
    import openvino_genai as genai

    scheduler = genai.SchedulerConfig()
    scheduler.enable_prefix_caching = False
    scheduler.max_num_batched_tokens = 8 * _CONTEXT
    pipeline = genai.LLMPipeline(
        model, "CPU", scheduler_config=scheduler, INFERENCE_NUM_THREADS=_THREADS,
        **({"INFERENCE_PRECISION_HINT": precision} if precision else {}),
    )  # fmt: skip
    options = genai.GenerationConfig()
    options.do_sample, options.ignore_eos, options.apply_chat_template = False, True, False

    def run(prompts: np.ndarray, count: int) -> Any:
        options.max_new_tokens = count
        ids = ov.Tensor(prompts.astype(np.int64))
        given = genai.TokenizedInputs(ids, ov.Tensor(np.ones(prompts.shape, np.int64)))
        return pipeline.generate(given, options).tokens

    return run


class _Parameters(ctypes.Structure):
    """Parameters of llama.cpp, which only it knows; those of a context begin with these."""

    _fields_ = [
        *((name, ctypes.c_int32) for name in ("n_ctx", "n_batch", "n_ubatch", "n_seq_max")),
        ("unused", ctypes.c_int32 * 3), ("n_threads", ctypes.c_int32),
        ("n_threads_batch", ctypes.c_int32), ("others", ctypes.c_char * 1024),
    ]  # fmt: skip


class _Batch(ctypes.Structure):
    _i32, _i8 = ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_int8)
    _fields_ = [
        ("n_tokens", ctypes.c_int32), ("token", _i32), ("embd", ctypes.c_void_p), ("pos", _i32),
        ("n_seq_id", _i32), ("seq_id", ctypes.POINTER(_i32)), ("logits", _i8),
    ]  # fmt: skip


def _llama() -> Any:
    """Return the C functions of llama.cpp in xllamacpp, whose interface has only a server."""
    import xllamacpp

    c, pointer = ctypes.CDLL(xllamacpp.xllamacpp.__file__), ctypes.c_void_p
    for name, result, arguments in (
        ("llama_model_default_params", _Parameters, []),
        ("llama_context_default_params", _Parameters, []),
        ("llama_model_load_from_file", pointer, [ctypes.c_char_p, _Parameters]),
        ("llama_init_from_model", pointer, [pointer, _Parameters]),
        ("llama_model_get_vocab", pointer, [pointer]),
        ("llama_vocab_n_tokens", ctypes.c_int32, [pointer]),
        ("llama_batch_init", _Batch, [ctypes.c_int32] * 3),
        ("llama_decode", ctypes.c_int32, [pointer, _Batch]),
        ("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float), [pointer, ctypes.c_int32]),
        ("llama_get_memory", pointer, [pointer]),
        ("llama_memory_clear", None, [pointer, ctypes.c_bool]),
    ):
        function = getattr(c, name)
        function.restype, function.argtypes = result, arguments
    return c


def llama_side(model: str, _: str) -> Run:
    """Return the runner of llama.cpp."""
    c = _llama()
    loaded = c.llama_model_load_from_file(model.encode(), c.llama_model_default_params())
    n_vocab = c.llama_vocab_n_tokens(c.llama_model_get_vocab(loaded))
    params = c.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_seq_max = 8 * _CONTEXT, 8 * _CONTEXT, 8
    params.n_threads = params.n_threads_batch = _THREADS
    context = c.llama_init_from_model(loaded, params)
    batch = c.llama_batch_init(8 * _CONTEXT, 0, 1)

    def decoded(tokens: np.ndarray, first: int) -> np.ndarray:
        n, length = tokens.shape
        for at, (row, i) in enumerate(np.ndindex(n, length)):
            batch.token[at], batch.pos[at] = int(tokens[row, i]), first + i
            batch.n_seq_id[at], batch.seq_id[at][0] = 1, row
            batch.logits[at] = i == length - 1
        batch.n_tokens = n * length
        if c.llama_decode(context, batch):
            raise RuntimeError("llama_decode failed")
        ends = [c.llama_get_logits_ith(context, row * length + length - 1) for row in range(n)]
        return np.array([[np.ctypeslib.as_array(end, (n_vocab,)).argmax()] for end in ends])

    def run(prompts: np.ndarray, count: int) -> Any:
        c.llama_memory_clear(c.llama_get_memory(context), True)
        result = [decoded(prompts, 0)]
        for i in range(count - 1):
            result.append(decoded(result[-1], prompts.shape[1] + i))
        return np.hstack(result).tolist()

    return run


SIDES = {"sycl_dnn": sycl_dnn_side, "openvino": openvino_side, "llama": llama_side}


def main() -> None:
    """Answer requests until the input ends."""
    engine, _, option = sys.argv[1].partition("=")
    run = SIDES[engine](sys.argv[2], option)
    print("ready", flush=True)
    for line in sys.stdin:
        n, length, count = map(int, line.split())
        # Distinct tokens, other ones for each prompt.
        prompts = np.stack([np.random.default_rng(i).permutation(40000)[:length] for i in range(n)])
        begin, of_cpu = time.perf_counter(), time.process_time()
        run(prompts + 100, count)
        print(time.perf_counter() - begin, time.process_time() - of_cpu, flush=True)


if __name__ == "__main__":
    main()
