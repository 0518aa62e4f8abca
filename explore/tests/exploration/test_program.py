"""`handloop explore`, by its command line."""

from __future__ import annotations

import io
import json
import signal
from pathlib import Path

import pytest

from handloop_explore.program import EXIT_FOUND, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, main
from support.checks.docs_page import blocks_of

SPINNING = """
import os
from careless import Greeting, controller_for

def reconcile(greeting, context):
    if "SIGNAL" in os.environ:
        os.kill(os.getppid(), int(os.environ["SIGNAL"]))
    while True:
        pass

def set_up(manager):
    controller_for(manager, "greeter").for_(Greeting).complete(reconcile)
"""

CERTS = """
from careless import ConfigMap, Kind, APIStruct, controller_for

class CertificateSpec(APIStruct):
    secret_name: str = ""

class Certificate(Kind, group="cert-manager.io", version="v1", partial=True):
    spec: CertificateSpec = CertificateSpec()

def reconcile(certificate, context):
    data = {"secret": certificate.spec.secret_name}
    context.apply(ConfigMap.named(certificate, data=data), owner=certificate)

def set_up(manager):
    certs = controller_for(manager, "certs").for_(Certificate).owns(ConfigMap)
    certs.writes(ConfigMap, "create", "patch").complete(reconcile)

def forgetful(manager):
    certs = controller_for(manager, "certs").for_(Certificate).watches(ConfigMap, lambda _: [])
    certs.writes(ConfigMap, "create", "patch").complete(reconcile)
"""
CERTIFICATES = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificates.cert-manager.io}
spec:
  group: cert-manager.io
  scope: Namespaced
  names: {plural: certificates, singular: certificate, kind: Certificate, listKind: CertificateList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: a}
spec: {secretName: b}
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of somebody who has followed the how-to."""
    for name, text in blocks_of("../explore/docs/exploring.md").items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    hello = (tmp_path / "hello.yaml").read_text(encoding="utf-8")
    for name, text in {
        "broken.py": "def",
        "spinning.py": SPINNING,
        "work.py": "from handloop_explore import Workload\nWORK = Workload(print, [])",
        "empty.yaml": "",
        "map.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}",
        "nameless.yaml": hello.replace("name: hello", "labels: {}"),
        "certs.py": CERTS,
        "certificates.yaml": CERTIFICATES,
        "certificate.yaml": CERTIFICATES.partition("---")[2],
        "other.yaml": hello.replace("kind: Greeting", "kind: Other"),
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.modules", dict(__import__("sys").modules))


def explored(*words: str) -> tuple[int, str]:
    """The exit code, and what was written."""
    out = io.StringIO()
    return main(words, out), out.getvalue()


def test_a_mistake_is_found_and_reported() -> None:
    """Also as JSON."""
    words = ("careless:set_up", "--apply=hello.yaml", "--replay=1:crash-after")
    code, text = explored(*words, "--json=found.json")
    assert code == EXIT_FOUND
    assert "ConfigMap default/hello is missing at settled() 1" in text
    report = json.loads(Path("found.json").read_text(encoding="utf-8"))
    assert (report["plans"], [one["plan"] for one in report["failures"]]) == (1, ["1:crash-after"])


def test_the_report_is_written_wherever_it_is_wanted() -> None:
    """As a page that leads to the live page beside it; and it names the line that replays it."""
    words = ("careless:set_up", "--apply=hello.yaml", "--replicas=2", "--deadline=90s")
    code, text = explored(*words, "--replay=1:crash-after", "--html=found.html", "--page=runs")
    line = "handloop explore careless:set_up --apply hello.yaml --replicas 2 --deadline 1m30s"
    line += " --replay 1:crash-after"
    assert (code, f"replay it: {line}\n" in text) == (EXIT_FOUND, True)
    assert text.endswith("1 failed: see found.html, runs/index.html\n")
    page = Path("found.html").read_text(encoding="utf-8")
    assert f"<code>{line}</code>" in page
    assert 'href="runs/index.html#run=plan-1&amp;at=strike"' in page
    live = Path("runs/index.html").read_text(encoding="utf-8")
    assert all(f'id="run-{name}"' in live for name in ("plan-1", "plan-1-process-2"))


def test_fields_are_ignored() -> None:
    """The line that replays a plan says so, too."""
    words = ("careless:set_up", "--apply=hello.yaml", "--ignore=configmaps", "--ignore=greetings:status")
    code, text = explored(*words, "--replay=1:crash-after")
    assert (code, "is missing" in text) == (EXIT_OK, False)
    code, text = explored(*words[:2], "--ignore=configmaps:data", "--replay=1:crash-after")
    line = "careless:set_up --apply hello.yaml --ignore configmaps:data --replay 1:crash-after"
    assert (code, f"replay it: handloop explore {line}\n" in text) == (EXIT_FOUND, True)
    assert "not seen: " in text
    assert "what is ignored: configmaps:data" in text


def test_a_kind_of_another_program_comes_with_its_definition(capsys: pytest.CaptureFixture[str]) -> None:
    """The CRD is there from the beginning, and stays; what is made for such objects is struck as for ours."""
    words = ("--apply=certificates.yaml", "--replay=c1:rival-delete")
    assert explored("certs:set_up", *words)[0] == EXIT_OK
    code, text = explored("certs:forgetful", *words)
    assert (code, "ConfigMap default/a does not come back" in text) == (EXIT_FOUND, True)
    assert "CustomResourceDefinition" not in text
    assert explored("certs:set_up", "--apply=certificate.yaml")[0] == EXIT_USAGE
    assert "no kind Certificate in cert-manager.io/v1; add its CustomResourceDef" in capsys.readouterr().err


def test_changes_are_generated_for_a_kind() -> None:
    """From the schema and the seed, which the line that replays a plan names; other objects are created."""
    words = ("careless:set_up", "--apply=hello.yaml", "--apply=map.yaml", "--generate=Greeting", "--seed=3")
    code, text = explored(*words, "--replay=3:crash-after")
    line = "handloop explore careless:set_up --apply hello.yaml --apply map.yaml --generate Greeting --seed 3"
    assert (code, f"replay it: {line} --replay 3:crash-after\n" in text) == (EXIT_FOUND, True)
    assert 'change Greeting hello by {"spec": {"name": ' in text
    assert "create ConfigMap other" in text


def test_an_older_report_does_not_outlive_a_failure_without_a_plan() -> None:
    """Neither does an older page, if there is no run to show."""
    found = Path("found.html")
    found.write_text("older", encoding="utf-8")
    explored("careless:set_up", "--apply=hello.yaml", "--replay=1:crash-after", "--page=runs")
    assert Path("runs/index.html").exists()
    words = ("spinning:set_up", "--apply=hello.yaml", "--budget=300ms", "--html=found.html", "--page=runs")
    code, text = explored(*words)
    assert code == EXIT_FOUND
    assert "it has not come to rest after 0.3 s of wall time" in text
    assert "it has not come to rest" in found.read_text(encoding="utf-8")
    assert not Path("runs/index.html").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_of_an_interrupted_program(
    number: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here before there is anything to report."""
    monkeypatch.setenv("SIGNAL", str(int(number)))
    assert explored("spinning:set_up", "--apply=hello.yaml") == (EXIT_INTERRUPTED, "")
    assert "interrupted before the undisturbed run had ended" in capsys.readouterr().err


def test_nothing_found_is_a_success() -> None:
    """With the figures."""
    code, text = explored("careless:set_up", "--apply=hello.yaml", "--replay=2:lost")
    assert (code, text[:8]) == (EXIT_OK, "1 plan, ")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["careless"], "careless does not have the form MODULE:NAME, such as careless:set_up"),
        (["./careless.py:set_up"], "names a file, not a module; write careless:set_up"),
        (["broken:set_up"], "broken cannot be imported: SyntaxError"),
        (["careless:nothing"], "careless:nothing does not exist"),
        (["careless:Greeting.x"], "does not exist"),
        (["careless:__name__"], "neither a function"),
        (["careless:set_up"], "needs objects to reconcile; add --apply FILE"),
        (["careless:set_up", "--apply=no.yaml"], "no.yaml"),
        (["work:WORK", "--apply=hello.yaml"], "its own steps; remove --apply"),
        (["work:WORK", "--generate=Greeting"], "its own steps; remove --generate"),
        (
            ["careless:set_up", "--apply=hello.yaml", "--generate=Pod"],
            "the operator's own kinds are Greeting",
        ),
        (
            ["careless:set_up", "--apply=map.yaml", "--generate=Greeting"],
            "map.yaml contains no such object",
        ),
        (["careless:set_up", "--apply=hello.yaml", "--replay=boo"], "is not a plan"),
        (["careless:set_up", "--budget=soon"], "--budget: invalid duration"),
        (["careless:set_up", "--budget=0s"], "0s is too short to play a plan"),
        (["careless:set_up", "--plans=0"], "0 is not a whole number of at least 1"),
        (["careless:set_up", "--apply=hello.yaml", "--ignore=secrets:"], "does not name fields"),
        (["careless:set_up", "--apply=empty.yaml"], "empty.yaml contains no object"),
        (["careless:set_up", "--apply=broken.py"], "an object needs apiVersion, kind and metadata"),
        (["careless:set_up", "--apply=nameless.yaml"], "nameless.yaml: this Greeting has no metadata.name"),
        (["careless:set_up", "--apply=other.yaml"], "the server has no kind Other in example.org/v1"),
        (["careless:reconcile", "--apply=hello.yaml"], "set_up failed"),
        (
            ["careless:set_up", "--apply=hello.yaml", "--html=no/report.html"],
            "this is a folder, or the file's folder does not exist",
        ),
        (["careless:set_up", "--apply=hello.yaml", "--page=hello.yaml"], "the page needs a folder"),
        (["careless:set_up", "--apply=hello.yaml", "--page=."], "this folder contains other files"),
        (["careless:set_up", "--apply=hello.yaml", "--deadline=1m", "--on=x"], "; remove --on"),
    ],
)
def test_a_line_without_sense_is_an_error(
    words: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one sentence."""
    assert explored(*words) == (EXIT_USAGE, "")
    assert error in capsys.readouterr().err
