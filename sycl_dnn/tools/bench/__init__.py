# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of cases in benchdnn's language, with a roofline model.

The command is ``python -m sycl_dnn bench``; see docs/inspect.md.
"""
