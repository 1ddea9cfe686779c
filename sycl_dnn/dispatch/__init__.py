# SPDX-License-Identifier: Apache-2.0
"""From a function over arrays to one submission: trace, lay out, cache, run.

An operation's body is written over ``Tensor`` objects. The first call with given shapes, layouts
and parameters traces it into a ``_core.Program``; later calls only look that up and say where the
arrays are.
"""
