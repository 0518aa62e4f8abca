"""docs/types.md: its blocks run, and the server takes what they print."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from support.checks.docs_page import blocks_of, run_python
from support.rigs.managed_sandbox import ManagedSandbox

BLOCKS = blocks_of("types.md")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def run(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    """Save a block as a file and run it, as a user who has handloop installed."""
    (folder / name).write_text(BLOCKS[name], encoding="utf-8")
    return run_python(folder, name)


def test_the_definition_is_taken(tmp_path: Path) -> None:
    """It has the parts that the table names."""
    printed = run(tmp_path, "site.py")
    assert printed.returncode == 0, printed.stderr
    definition = json.loads(printed.stdout)
    ManagedSandbox(lifelike=True).post(CRDS, definition)
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    spec = schema["properties"]["spec"]["properties"]
    assert spec["routes"]["items"]["properties"]["port"]["default"] == "http"
    assert (spec["routes"]["minItems"], spec["quotas"]["maxProperties"]) == (1, 5)
    assert re.search(spec["keep"]["pattern"], spec["keep"]["default"])
    assert (spec["tier"]["default"], spec["template"]["properties"]["metadata"]["type"]) == ("free", "object")


def test_the_refusal_is_the_one_that_is_shown(tmp_path: Path) -> None:
    """Path and way out."""
    ended = run(tmp_path, "refused.py")
    assert ended.stderr.splitlines()[-1] == BLOCKS["refused"].strip()
