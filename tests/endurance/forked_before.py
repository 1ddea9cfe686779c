# SPDX-License-Identifier: Apache-2.0
"""A process forks before it uses a device: parent and child both work."""

import multiprocessing


def work():
    import dpnp

    import sycl_dnn
    from sycl_dnn import functional as F

    x = dpnp.full((4, 4), -2.0, dtype="f4", sycl_queue=sycl_dnn.default_queue())
    y = F.matmul(F.abs(x), x)
    print("the product is right:", bool((dpnp.asnumpy(y) == -16).all()), flush=True)


def main():
    import sycl_dnn.functional  # noqa: F401

    for _ in range(2):
        child = multiprocessing.get_context("fork").Process(target=work)
        child.start()
        child.join()
        print("exit code", child.exitcode, flush=True)
    work()


if __name__ == "__main__":
    main()
