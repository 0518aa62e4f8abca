"""sandbox/docs/controls.md: every line of it is understood, in order."""

from __future__ import annotations

import json
import re
from pathlib import Path

from handloop_sandbox.controls.controls import HELP
from handloop_sandbox.server import Sandbox

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "sandbox" / "docs" / "controls.md").read_text(encoding="utf-8")
_CURL = re.compile(
    r"""^curl (?:-X (?P<method>\w+) )?"\$server(?P<path>/\S+)"(?: (?:-d|--data-binary) (?P<body>.*))?$""",
    re.MULTILINE,
)
_FILE = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
_JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}},
}


def test_the_curl_examples_are_understood() -> None:
    """Every path and body of them is sent, and none is refused."""
    transport = Sandbox(seed=1).transport()
    blocks = "".join(re.findall(r"^```bash\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE))
    commands = list(_CURL.finditer(blocks))
    assert len(commands) == blocks.count("curl ") > 15
    for command in commands:
        if "/jobs/" in command["path"]:
            job = {**_JOB, "metadata": {"name": "backup", "namespace": "default"}}
            jobs = "/apis/batch/v1/namespaces/default/jobs"
            transport.request("DELETE", f"{jobs}/backup?propagationPolicy=Background")
            transport.request("POST", jobs, body=json.dumps(job).encode())
        if "rewind" in command["path"]:
            transport.request("DELETE", "/sandbox/faults")
            for name in "xy":
                transport.request("POST", "/api/v1/namespaces", body=_namespace(name))
        body = command["body"] or ""
        sent = _FILE if body.startswith("@") else body.strip("'").encode() or None
        method = command["method"] or ("POST" if body else "GET")
        answer = transport.request(method, command["path"], body=sent)
        assert answer.status in (200, 201), (command[0], answer)


def _namespace(name: str) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}).encode()


def test_every_control_is_on_the_page() -> None:
    """What the server lists by itself has an example."""
    for path in re.findall(r"/sandbox/(\w+)", HELP):
        assert f"/sandbox/{path}" in TEXT
