"""The recipe of the image, read from the files: nothing here builds it."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
STEPS = re.findall(
    r"^([A-Z]+) +(.*(?:\\\n.*)*)", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE), re.MULTILINE
)
PACKAGES = ("handloop", "apis", "client", "workqueue", "informers", "controller")


def said(word: str) -> list[str]:
    """The arguments of each step of a kind."""
    return [arguments for step, arguments in STEPS if step == word]


def test_the_base_is_pinned_and_the_same_in_both_stages() -> None:
    """A patch release, not `latest`: another interpreter would not fit the virtual environment."""
    (base,) = said("ARG")
    assert re.fullmatch(r"PYTHON_IMAGE=python:\d+\.\d+\.\d+-slim-\w+(@sha256:[0-9a-f]{64})?", base)
    assert said("FROM") == ["${PYTHON_IMAGE} AS build", "${PYTHON_IMAGE}"]


def test_it_runs_as_the_user_of_the_deployment_without_a_shell() -> None:
    """User and group by number, so that runAsNonRoot can be checked; the program is process 1."""
    deployment = yaml.safe_load((ROOT / "manifests/manager/deployment.yaml").read_text(encoding="utf-8"))
    security = deployment["spec"]["template"]["spec"]["securityContext"]
    assert said("USER") == [f"{security['runAsUser']}:{security['runAsGroup']}"]
    (entry,) = said("ENTRYPOINT")
    assert yaml.safe_load(entry)[1:] == ["-m", "controller"]
    assert not said("CMD")


def test_everything_that_is_copied_may_be_copied() -> None:
    """What .dockerignore lets through is exactly what the steps take: every package but the sandbox."""
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    let_through = {line[1:] for line in ignored if line.startswith("!")}
    assert ignored[0] == "*"
    copied = {name for step in said("COPY") if "--from" not in step for name in step.split()[:-1]}
    assert copied == let_through
    assert copied >= set(PACKAGES)
    assert "sandbox" not in copied
    assert all((ROOT / name).exists() for name in copied)


def test_dependencies_come_with_their_hashes() -> None:
    """Nothing is installed that the lock file does not name."""
    installs = [step for step in said("RUN") if "pip" in step and " install " in step]
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert "--no-deps ." in installs[1]
    assert "--hash=sha256:" in (ROOT / "requirements.lock").read_text(encoding="utf-8")
