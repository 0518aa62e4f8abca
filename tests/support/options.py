"""Command lines of the operator that `python -m controller` runs."""

from __future__ import annotations

from functools import partial
from typing import Final

from handloop.controller.cli import flags, options
from handloop.controller.example_operator import EXAMPLES

new_options: Final = partial(options.Options, operator=EXAMPLES)
"""Options without a command line."""
parse_options: Final = partial(flags.parse_options, operator=EXAMPLES)
"""Options of a command line."""
