"""`version`: the versions of an operator, of handloop, of Python and of the platform."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from handloop.controller.cli.operator import Operator

DISTRIBUTION: Final = "handloop"


def version() -> str:
    """The version of the installed handloop, or of the checkout it runs from."""
    project = checkout(Path(__file__).parents[3])
    if project:
        return str(project["version"])
    from importlib import metadata  # noqa: PLC0415 - it loads the parser of mails, too

    return metadata.version(DISTRIBUTION)


def checkout(root: Path, distribution: str = DISTRIBUTION) -> Mapping[str, Any]:
    """The [project] in a checkout of ours; {} for any other folder, such as one of installed packages."""
    try:
        text = (root / "pyproject.toml").read_text(encoding="utf-8")
        import tomllib  # noqa: PLC0415 - an image has no project file

        project: Mapping[str, Any] = tomllib.loads(text)["project"]
        return project if project["name"] == distribution else {}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def version_text(operator: Operator, output: str) -> str:
    """The versions of an operator, of handloop, Python and the platform: one line for people, or JSON."""
    facts = {DISTRIBUTION: version(), "python": platform.python_version()}
    own = {operator.name: operator.version()}
    if output == "json":
        return json.dumps(own | facts | {"platform": platform.platform()})
    others = [f"{name} {text}" for name, text in facts.items() if name != operator.name]
    shown = " ".join(word for word in (operator.name, operator.version()) if word)
    return f"{shown} ({', '.join(others)}, {platform.platform()})"
