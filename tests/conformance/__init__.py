# SPDX-License-Identifier: Apache-2.0
"""Whether oneDNN's primitives and graphs are right: cases, their references, two commands."""
