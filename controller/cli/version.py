"""`version`: the versions of this program, of Python and of the platform."""

from __future__ import annotations

import json
import platform
from importlib import metadata
from pathlib import Path
from typing import Final

DISTRIBUTION: Final = "handloop"


def version() -> str:
    """The version of the installed distribution, or of the checkout it runs from."""
    checkout = Path(__file__).parents[3] / "pyproject.toml"
    if checkout.exists():
        import tomllib  # noqa: PLC0415 - an image has no project file

        return str(tomllib.loads(checkout.read_text(encoding="utf-8"))["project"]["version"])
    return metadata.version(DISTRIBUTION)


def version_text(output: str) -> str:
    """One line for people, or JSON."""
    facts = {"handloop": version(), "python": platform.python_version(), "platform": platform.platform()}
    if output == "json":
        return json.dumps(facts)
    return f"{DISTRIBUTION} {facts['handloop']} (python {facts['python']}, {facts['platform']})"
