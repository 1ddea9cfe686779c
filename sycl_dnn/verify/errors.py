# SPDX-License-Identifier: Apache-2.0
"""What can be said about a case instead of a result."""

from __future__ import annotations


class CaseError(ValueError):
    """A line that cannot be read; the text is ``file:line: message``."""


class Skip(Exception):
    """A combination of options that makes no case; it is left out and counted."""


class Refusal(Exception):
    """A case that will not be run, with the rule that says so."""


class Failure(Exception):
    """oneDNN made a primitive and then refused to execute it.

    impl : name of the implementation
    """

    def __init__(self, text: str, impl: str) -> None:
        super().__init__(text)
        self.impl = impl
