"""sandbox/docs/testing-with-the-sandbox.md: its examples run, its tables are complete."""

from __future__ import annotations

import re
import stat
import sys
from pathlib import Path
from typing import get_args

from handloop_sandbox.faults.fault import AnyFault
from handloop_sandbox.faults.faults import Faults
from support.checks.docs_page import assert_tests_pass

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "sandbox" / "docs" / "testing-with-the-sandbox.md").read_text(encoding="utf-8")
MY_PROGRAM = f"""#!{sys.executable}
import sys, urllib.request, yaml
document = yaml.safe_load(open(sys.argv[1].partition("=")[2]))
path = "/api/v1/namespaces/default/configmaps/settings"
request = urllib.request.Request(
    document["clusters"][0]["cluster"]["server"] + path,
    data=b'{{"data": {{"seen": "yes"}}}}',
    headers={{"Content-Type": "application/merge-patch+json"}},
    method="PATCH",
)
urllib.request.urlopen(request)
"""


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def test_the_python_examples_pass(tmp_path: Path) -> None:
    """Each is a test file of its own for pytest with the plugin, run by a user who has installed us."""
    blocks = _blocks("python")
    for number, block in enumerate(blocks):
        (tmp_path / f"test_{number}.py").write_text(block, encoding="utf-8")
    program = tmp_path / "my-program"
    program.write_text(MY_PROGRAM, encoding="utf-8")
    program.chmod(stat.S_IRWXU)
    assert_tests_pass(tmp_path, sum(block.count("def test_") for block in blocks))


def test_every_fault_is_in_the_table() -> None:
    """By its method and by its tag."""
    for kind in get_args(AnyFault):
        assert f"| `{kind.__struct_config__.tag}` |" in TEXT
    rows = re.findall(r"^\| `(\w+)\(", TEXT, re.MULTILINE)
    assert {name for name in rows if hasattr(Faults, name)} == set(rows)
    assert len(rows) == len(get_args(AnyFault)) + 2
