# SPDX-License-Identifier: Apache-2.0
"""Generate calls in worker processes and report the outcomes.

    python tests/fuzz/run.py --calls 100000 --seed 1 --jobs 2

A worker that dies or hangs is reported with the command that replays its calls.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "helpers")]
#: Calls in one process.
BATCH = 1000
#: Seconds for one call.
LONGEST = 120


def play(kind, seed, calls, log, verbose=False):
    """Make the calls of one worker; write the tally after each of them."""
    import faulthandler
    import traceback

    import hypothesis
    from hypothesis import strategies as st

    from fuzz import values
    from fuzz.calls import Tally, make_stream

    if verbose:
        values.listeners.append(lambda *parts: print(*parts, flush=True))
    tally, stream, failures = Tally(), make_stream(), []
    state = {"index": 0}

    def record():
        text = json.dumps(
            {"index": state["index"], "counts": tally.counts, "failures": failures}
        ).encode()
        os.pwrite(log, text.ljust(1 << 16), 0)

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=calls, database=None, deadline=None, phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    @hypothesis.given(st.data())
    def one(data):
        state["index"] += 1
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        try:
            tally.play(kind, data.draw, stream)
        except hypothesis.errors.HypothesisException:
            raise
        except Exception:
            tally.counts["UNDOCUMENTED"] += 1
            if verbose:
                traceback.print_exc()
            failures.append([state["index"], traceback.format_exc()[-1200:]])
            del failures[5:]
        if state["index"] % 10 == 0 or state["index"] == calls:
            record()
        os.pwrite(log, str(state["index"]).encode().ljust(16), 1 << 16)

    one()
    faulthandler.cancel_dump_traceback_later()
    record()


def replay_command(kind, seed, calls):
    """The command that replays the calls of a worker."""
    return f"python tests/fuzz/run.py --kind {kind} --seed {seed} --calls {calls} --here"


def work(kind, seed, calls):
    """Run one worker; return its tally and its failure, if any."""
    with tempfile.TemporaryFile() as log:
        os.pwrite(log.fileno(), b"{}".ljust(1 << 16), 0)
        command = [sys.executable, __file__, "--kind", kind, "--seed", str(seed)]
        command += ["--calls", str(calls), "--log", str(log.fileno())]
        with tempfile.TemporaryFile("w+") as errors:
            done = subprocess.run(
                command, pass_fds=[log.fileno()], stderr=errors, stdout=subprocess.DEVNULL
            )
            errors.seek(0)
            said = errors.read()[-1500:]
        state = json.loads(os.pread(log.fileno(), 1 << 16, 0).decode().strip("\0 ") or "{}")
        last = os.pread(log.fileno(), 16, 1 << 16).decode().strip("\0 ") or "0"
    counts = Counter(state.get("counts", {}))
    problems = [f"call {i} of {replay_command(kind, seed, calls)}\n{text}"
                for i, text in state.get("failures", [])]  # fmt: skip
    if done.returncode:
        counts["CRASHED"] += 1
        problems.append(
            f"ended with {done.returncode} after call {last} of "
            f"{replay_command(kind, seed, calls)}\n{said}"
        )
    return kind, counts, problems


def shares(calls, kinds):
    """How many calls of each kind, in batches: (kind, number)."""
    from fuzz.calls import KINDS

    total = sum(KINDS[k][1] for k in kinds)
    for kind in kinds:
        left = round(calls * KINDS[kind][1] / total)
        while left > 0:
            yield kind, min(left, BATCH)
            left -= BATCH


def table(tallies):
    """Lines with the counts by kind."""
    for kind, counts in sorted(tallies.items()):
        parts = ", ".join(f"{n} {what}" for what, n in sorted(counts.items()))
        yield f"{kind:12s} {sum(counts.values()):7d}: {parts}"
    whole = sum(tallies.values(), Counter())
    parts = ", ".join(f"{n} {what}" for what, n in sorted(whole.items()))
    yield f"{'all':12s} {sum(whole.values()):7d}: {parts}"


def parser():
    """The command line."""
    from fuzz.calls import KINDS

    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("--calls", type=int, default=10_000)
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--jobs", type=int, default=1)
    made.add_argument("--kind", choices=sorted(KINDS), help="this one only")
    made.add_argument("--here", action="store_true", help="in this process, to replay")
    made.add_argument("--log", type=int, help=argparse.SUPPRESS)
    return made


def main():
    """Return 1 if a call was neither accepted nor refused as documented."""
    given = parser().parse_args()
    if given.here or given.log is not None:
        with tempfile.TemporaryFile() as log:
            play(
                given.kind,
                given.seed,
                given.calls,
                log.fileno() if given.here else given.log,
                given.here,
            )
            if given.here:
                print(os.pread(log.fileno(), 1 << 16, 0).decode().strip())
        return 0
    from fuzz.calls import KINDS

    batches = list(shares(given.calls, [given.kind] if given.kind else sorted(KINDS)))
    start, tallies, problems = time.monotonic(), {}, []
    with ThreadPoolExecutor(given.jobs) as pool:
        seeds = range(given.seed * 100_000, given.seed * 100_000 + len(batches))
        jobs = [pool.submit(work, k, s, n) for s, (k, n) in zip(seeds, batches, strict=True)]
        for number, job in enumerate(jobs):
            kind, counts, found = job.result()
            tallies[kind] = tallies.get(kind, Counter()) + counts
            problems += found
            print(f"{number + 1}/{len(jobs)} batches, {len(problems)} problems", file=sys.stderr)
            for problem in found:
                print(problem, flush=True)
    print(*table(tallies), sep="\n")
    print(f"{len(problems)} problems, seed {given.seed}, {time.monotonic() - start:.0f} s")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
