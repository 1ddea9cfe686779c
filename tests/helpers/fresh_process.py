# SPDX-License-Identifier: Apache-2.0
"""Run Python in new processes, since devices are searched for once per process."""

import os
import subprocess
import sys

#: Set by the import of sycl_dnn in the tests' own process, or by the user who runs them.
_RESET = ("OCL_ICD_FILENAMES", "ONEAPI_DEVICE_SELECTOR", "SYCL_QUEUE_THREAD_POOL_SIZE")


def run(*arguments, python=sys.executable, cwd=None, **variables):
    """Run ``python *arguments`` as on a machine without an OpenCL driver."""
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
    """Return the output of ``code``, which must succeed."""
    done = run("-c", code, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
