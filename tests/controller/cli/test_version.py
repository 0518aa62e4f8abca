"""`version`."""

from __future__ import annotations

import json
import re

from controller.cli.version import version, version_text


def test_the_version_is_the_projects() -> None:
    """Three numbers, from the project file."""
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", version())


def test_text_and_json_say_the_same() -> None:
    """One line for people, one object for programs."""
    facts = json.loads(version_text("json"))
    assert facts["handloop"] == version()
    assert version_text("").startswith(f"handloop {version()} (python {facts['python']}")
