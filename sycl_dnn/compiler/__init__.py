# SPDX-License-Identifier: Apache-2.0
"""Compilation of functions into fused programs.

``decorator.py`` has the public function ``compile``; ``lowering.py`` lists the passes over the
graph, each of which has its own file.
"""
