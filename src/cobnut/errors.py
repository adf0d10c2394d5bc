"""What can go wrong, and whose fault is it?

Every error that reaches a user is a `CobnutError` with one clear line: what happened, where, and what to do. Its class
decides the exit code. What the web does every second (a 404, a timeout, broken HTML) is no error but recorded data.

Exit codes: 0 done; 1 done, but something named on the command line failed; 2 your input; 3 the data on disk;
4 the environment; 130 interrupted.
"""

from __future__ import annotations


class CobnutError(Exception):
    """Base of all errors that Cobnut reports to a user; `exit_code` is the code of the command that ends with it."""

    exit_code = 4

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.what, self.where, self.remedy = what, where, remedy
        super().__init__(self.line())

    def line(self) -> str:
        """The whole error as one line: `what: where; remedy`."""
        text = self.what if self.where is None else f"{self.what}: {self.where}"
        return text if self.remedy is None else f"{text}; {self.remedy}"


class PartlyFailedError(CobnutError):
    """The command did its work, but something named on the command line failed (a seed, a URL asked about)."""

    exit_code = 1


class InputError(CobnutError):
    """What the user gave is wrong: an option, a setting, a file, a URL, an expression."""

    exit_code = 2


class DataError(CobnutError):
    """What lies on disk is missing, damaged, or of a format version this program does not know."""

    exit_code = 3


class MachineError(CobnutError):
    """The machine says no: a port in use, a folder that cannot be written, a full disk, a lock held by another."""

    exit_code = 4


class OutOfMemoryError(MachineError):
    """The relational engine needs more memory than it may take."""
