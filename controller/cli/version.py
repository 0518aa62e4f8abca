"""`version`: the versions of an operator, of handloop, of Python and of the platform."""

from __future__ import annotations

import json
import platform
from importlib import metadata
from pathlib import Path
from typing import Final

from handloop.controller.cli.operator import Operator

DISTRIBUTION: Final = "handloop"


def version() -> str:
    """The version of the installed handloop, or of the checkout it runs from."""
    checkout = Path(__file__).parents[3] / "pyproject.toml"
    if checkout.exists():
        import tomllib  # noqa: PLC0415 - an image has no project file

        return str(tomllib.loads(checkout.read_text(encoding="utf-8"))["project"]["version"])
    return metadata.version(DISTRIBUTION)


def version_text(operator: Operator, output: str) -> str:
    """The versions of an operator, of handloop, Python and the platform: one line for people, or JSON."""
    facts = {DISTRIBUTION: version(), "python": platform.python_version()}
    own = {operator.name: operator.version()}
    if output == "json":
        return json.dumps(own | facts | {"platform": platform.platform()})
    others = [f"{name} {text}" for name, text in facts.items() if name != operator.name]
    shown = " ".join(word for word in (operator.name, operator.version()) if word)
    return f"{shown} ({', '.join(others)}, {platform.platform()})"
