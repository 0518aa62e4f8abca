"""The image and the action of the sandbox, read from their files: nothing here builds them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import yaml

from handloop_sandbox import program

SANDBOX = Path(__file__).parents[2]
ROOT = SANDBOX.parent
DOCKERFILE = (SANDBOX / "Dockerfile").read_text(encoding="utf-8")


def _said(word: str, text: str = DOCKERFILE) -> list[str]:
    lines = re.sub(r"^ *#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    return re.findall(rf"^{word} +(.*)$", lines, re.MULTILINE)


def test_the_image_has_the_base_of_the_programs_image() -> None:
    """One pinned base for both: what is mended there is mended here."""
    other = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert _said("ARG")[0] == _said("ARG", other)[0]
    assert _said("FROM") == _said("FROM", other)


def test_everything_that_is_copied_may_be_copied() -> None:
    """What the ignore file lets through is exactly what the steps take, and it exists."""
    ignored = (SANDBOX / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    let_through = {line[1:] for line in ignored if line.startswith("!")}
    copied = {name for step in _said("COPY") if "--from" not in step for name in step.split()[:-1]}
    assert ignored[0] == "*"
    assert {name for name in copied if not name.startswith("sandbox/")} == let_through
    assert all((ROOT / name).exists() for name in copied)
    links = [path for path in SANDBOX.rglob("*") if path.is_symlink() and "tests" not in path.parts]
    led_to = {str(path.resolve().relative_to(ROOT)) for path in links}
    assert led_to <= let_through, "a link leads to what the image lacks"


def test_what_is_installed_has_hashes() -> None:
    """In the image and by the action: of what the locks name, and of nothing else."""
    action = yaml.safe_load((SANDBOX / "action.yaml").read_text(encoding="utf-8"))
    (script,) = (step["run"] for step in action["runs"]["steps"])
    commands = [*re.findall(r"pip[^&]*? install [^&]*", " && ".join(_said("RUN")))]
    commands += re.findall(r"^\S*pip\S* (?!install)--.*$", script, re.MULTILINE)
    assert len(commands) == 6
    assert all("--require-hashes" in one or "--no-deps" in one for one in commands)
    pins = re.findall(r"^[\w.-]+==.*$", (SANDBOX / "alone.lock").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(pins) > 10
    assert all("--hash=sha256:" in pin for pin in pins)


def test_the_flags_exist() -> None:
    """Those of the image's entry point, and those of the action."""
    (entry,) = _said("ENTRYPOINT")
    _, module, name, *flags = yaml.safe_load(entry)
    assert (module, name) == ("-m", "handloop_sandbox")
    assert program.parser().parse_args(flags).address == "0.0.0.0"  # noqa: S104 - in the container
    action = yaml.safe_load((SANDBOX / "action.yaml").read_text(encoding="utf-8"))
    (line,) = re.findall(r"-m handloop_sandbox (.*?) \$ARGUMENTS", action["runs"]["steps"][0]["run"])
    assert program.parser().parse_args(shlex.split(line)).tls


def test_the_lock_names_what_the_project_needs() -> None:
    """Each of its dependencies, that of TLS included."""
    project = (SANDBOX / "pyproject.toml").read_text(encoding="utf-8")
    needs = re.findall(r'^    "([\w-]+)>=', project, re.MULTILINE)
    pinned = (SANDBOX / "alone.lock").read_text(encoding="utf-8")
    assert len(needs) == 5
    assert all(re.search(rf"^{name}==", pinned, re.MULTILINE | re.IGNORECASE) for name in needs)
