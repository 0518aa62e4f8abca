"""Command lines of the operator that `python -m controller` runs."""

from __future__ import annotations

from functools import partial
from typing import Final

from handloop.controller.cli import flags, options
from handloop.controller.program import PROGRAM

new_options: Final = partial(options.Options, operator=PROGRAM)
"""Options without a command line."""
parse_options: Final = partial(flags.parse_options, operator=PROGRAM)
"""Options of a command line."""
