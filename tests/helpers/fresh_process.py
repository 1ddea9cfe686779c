# SPDX-License-Identifier: Apache-2.0
"""Run Python in new processes: where devices are looked for happens once per process."""

import os
import subprocess
import sys

#: Set by importing sycl_dnn in the tests' own process, or by the person who runs them.
_RESET = ("OCL_ICD_FILENAMES", "ONEAPI_DEVICE_SELECTOR", "SYCL_QUEUE_THREAD_POOL_SIZE")


def run(*arguments, python=sys.executable, cwd=None, **variables):
    """Run ``python *arguments`` as if on a machine where no OpenCL driver is installed."""
    environment = {name: value for name, value in os.environ.items() if name not in _RESET}
    environment |= {"OCL_ICD_VENDORS": "/dev/null", **variables}
    return subprocess.run(
        [str(python), *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment,
        timeout=900,
    )


def output(code, **variables):
    """Return what ``code`` prints; it must succeed."""
    done = run("-c", code, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
