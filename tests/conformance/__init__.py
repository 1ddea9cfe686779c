# SPDX-License-Identifier: Apache-2.0
"""Conformance of oneDNN's primitives: cases in benchdnn's language, references in NumPy."""
