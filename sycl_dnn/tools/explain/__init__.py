# SPDX-License-Identifier: Apache-2.0
"""Why a case is refused or slow, and which similar cases are not.

``python -m sycl_dnn explain`` is the command; docs/inspect.md describes it.
"""
