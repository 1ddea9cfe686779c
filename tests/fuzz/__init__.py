# SPDX-License-Identifier: Apache-2.0
"""Generated calls: each is taken or refused with a documented error, and nothing is damaged."""
