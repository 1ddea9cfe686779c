# SPDX-License-Identifier: Apache-2.0
"""Functions compiled into fused programs: models, training steps.

``decorator.py`` has the function ``compile``; ``lowering.py`` the order of passes over the graph of
nodes; each pass has its own file.
"""
