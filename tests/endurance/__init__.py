# SPDX-License-Identifier: Apache-2.0
"""Long runs, and what a process may suffer: threads, memory, signals, forks, exit."""
