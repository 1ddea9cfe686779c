# SPDX-License-Identifier: Apache-2.0
"""Explanations of why a case is refused or slow, and similar cases that are not.

The command is ``python -m sycl_dnn explain``; see docs/inspect.md.
"""
