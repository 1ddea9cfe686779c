# SPDX-License-Identifier: Apache-2.0
"""Conformance of oneDNN's primitives and graphs: cases, references, two commands."""
