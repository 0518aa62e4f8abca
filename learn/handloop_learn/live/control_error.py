"""The error of an experiment that the live page cannot carry out."""

from __future__ import annotations


class ControlError(Exception):
    """An experiment could not be carried out. The message says why, in words for people."""
