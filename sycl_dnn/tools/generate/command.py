# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_dnn generate``: continue a prompt and stream the text."""

from __future__ import annotations

import argparse
import sys
import time

from sycl_dnn import llm


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    result = argparse.ArgumentParser(
        prog="python -m sycl_dnn generate", description="Print what follows a prompt."
    )
    add = result.add_argument
    add("prompt", help="the text; - reads it from the standard input")
    add("--model", required=True, metavar="PATH", help="a GGUF file or a folder of Hugging Face")
    add("--chat", action="store_true", help="the prompt is a user's message, in the chat's form")
    add("--system", metavar="TEXT", help="with --chat, a message of the system before it")
    add("--dtype", choices=["float32", "bfloat16", "int8", "stored"], default="float32",
        help="what weights are held in")  # fmt: skip
    add("--device", metavar="D", help="cpu, gpu or a dpctl filter string")
    add("--max-tokens", type=int, default=64, metavar="N")
    add("--temperature", type=float, default=0.0, metavar="T", help="0 is greedy (default)")
    add("--top-k", type=int, default=0, metavar="K")
    add("--top-p", type=float, default=1.0, metavar="P")
    add("--min-p", type=float, default=0.0, metavar="P")
    add("--repetition-penalty", type=float, default=1.0, metavar="R")
    add("--seed", type=int, metavar="N")
    add("--stop", action="append", default=[], metavar="TEXT", help="end before it; several")
    add("--speed", action="store_true", help="print the time to the first piece, and the rate")
    return result


def main(arguments: list[str]) -> int:
    """Run the command; return 0, or 2 for an invalid model or option."""
    provided = parser().parse_args(arguments)
    prompt = sys.stdin.read() if provided.prompt == "-" else provided.prompt
    options = {
        name: getattr(provided, name)
        for name in ("max_tokens", "temperature", "top_k", "top_p", "min_p", "repetition_penalty",
                     "seed", "stop")
    }  # fmt: skip
    try:
        lm = llm.load(provided.model, dtype=provided.dtype, device=provided.device)
        start = time.perf_counter()
        if provided.chat:
            roles = {"system": provided.system, "user": prompt}
            messages = [{"role": r, "content": text} for r, text in roles.items() if text]
            pieces = lm.chat(messages, stream=True, **options)
        else:
            pieces = lm.generate(prompt, stream=True, **options)
        times = [start]
        for piece in pieces:
            times.append(time.perf_counter())
            print(piece, end="", flush=True)
    except (OSError, ValueError, ImportError) as error:
        print(f"python -m sycl_dnn generate: {error}", file=sys.stderr)
        return 2
    print()
    if provided.speed and len(times) > 4:  # the step is compiled for the second token
        rate = (len(times) - 4) / max(times[-2] - times[2], 1e-9)
        print(f"first piece after {times[1] - start:.2f} s, then {rate:.1f} tokens a second")
    return 0
