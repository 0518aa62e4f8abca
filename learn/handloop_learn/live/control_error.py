"""Why a control of the live page cannot act."""

from __future__ import annotations


class ControlError(Exception):
    """A control cannot act; the text has the reason, for people."""
