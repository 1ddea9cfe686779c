# SPDX-License-Identifier: Apache-2.0
"""Fuzzing: each call is accepted or refused with a documented error, without memory corruption."""
