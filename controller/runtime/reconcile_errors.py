"""What a reconcile may raise on purpose; anything else, but an error of the client, is counted as a bug."""

from __future__ import annotations


class ReconcileError(Exception):
    """Something expected went wrong: retried with back-off, logged without a stack."""


class TerminalError(ReconcileError):
    """
    Trying again cannot help: not retried until the object, or something it is about, changes.

    The text is the reason, for the log and for a condition; `raise TerminalError("...") from error` keeps the
    cause.
    """


class DeadlineExceededError(ReconcileError):
    """The reconcile took longer than it may; retried."""
