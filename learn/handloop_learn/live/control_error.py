"""The error of a live page control that cannot act."""

from __future__ import annotations


class ControlError(Exception):
    """A control cannot act; the text tells people why."""
