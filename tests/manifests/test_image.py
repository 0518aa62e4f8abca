"""The recipe of the image, read from the files: nothing here builds it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
STEPS = re.findall(
    r"^([A-Z]+) +(.*(?:(?<=\\)\n.*)*)", re.sub(r"^ *#.*\n", "", DOCKERFILE, flags=re.MULTILINE), re.MULTILINE
)
WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in (ROOT / ".github/workflows").glob("*.yaml")
}
PACKAGES = ("handloop", "apis", "client", "workqueue", "informers", "controller")


def said(word: str) -> list[str]:
    """The arguments of each step of a kind."""
    return [arguments for step, arguments in STEPS if step == word]


def test_the_base_is_pinned_and_the_same_in_both_stages() -> None:
    """A patch release, not `latest`: another interpreter would not fit the virtual environment."""
    base, local = said("ARG")
    assert local == "HANDLOOP_LOCAL_VERSION"
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
    """What .dockerignore lets through is exactly what the steps take: what the program needs."""
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    let_through = {line[1:] for line in ignored if line.startswith("!")}
    assert ignored[0] == "*"
    copied = {name for step in said("COPY") if "--from" not in step for name in step.split()[:-1]}
    assert copied == let_through
    assert copied >= set(PACKAGES)
    assert "sandbox" not in copied
    assert {"handloop/testing", "handloop/picture", "manifests/bundle"} <= set(ignored)
    assert all((ROOT / name).exists() for name in copied)


def test_dependencies_come_with_their_hashes() -> None:
    """Nothing is installed that the lock file does not name."""
    script = "&&".join(said("RUN")).replace("\\\n", " ")
    commands = [command.strip() for command in script.split("&&")]
    fetching = [one for one in commands if re.search(r" pip (\S+ /\S+ )?(install|wheel|download) ", one)]
    locks = [re.findall(r"--require-hashes +--requirement (\S+)", one) for one in fetching]
    assert locks == [["program.lock"], ["setuptools.lock"], [], []]
    built, installed = fetching[2:]
    assert re.search(r" wheel --no-deps --no-build-isolation .* \.$", built)
    assert re.search(r" install --no-compile --no-deps /wheels/\*\.whl$", installed)
    for name in ("requirements/program.lock", "tools/setuptools.lock"):
        text = (ROOT / name).read_text(encoding="utf-8")
        pinned = re.findall(r"^[a-z][^ \n]*==(?:[^\n]*\\\n)*[^\n]*$", text, re.MULTILINE)
        assert pinned
        assert all("--hash=sha256:" in one for one in pinned)


def test_what_installs_has_no_token_to_write_with() -> None:
    """The locks are made by code of others: the job that may write runs none of it, and takes only locks."""
    renew, propose = (WORKFLOWS["locks"]["jobs"][name] for name in ("renew", "propose"))
    assert WORKFLOWS["locks"]["permissions"] == {"contents": "read"}
    assert "permissions" not in renew
    (checkout,) = [step for step in renew["steps"] if "checkout" in step.get("uses", "")]
    assert checkout["with"]["persist-credentials"] is False
    assert "token" not in str(renew).lower()
    assert propose["permissions"] == {"contents": "write", "pull-requests": "write"}
    ran = " ".join(step.get("run", "") for step in propose["steps"])
    assert not re.search(r"(^|[;&|(]|do )\s*(make|pip|npm|python)", ran, re.MULTILINE)


def test_ci_installs_no_package_without_a_lock() -> None:
    """Neither of npm."""
    steps = [
        step
        for workflow in WORKFLOWS.values()
        for job in workflow["jobs"].values()
        for step in job.get("steps", ())
    ]
    ran = [step["run"] for step in steps if "npm " in step.get("run", "")]
    assert ran
    assert all(re.search(r"npm ci .*--prefix tools/pyright", one) for one in ran)
    packages = json.loads((ROOT / "tools/pyright/package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert all(package.get("integrity") for path, package in packages.items() if path)


def test_where_every_test_runs_helm_is_installed() -> None:
    """In one version: without helm the tests of the charts are skipped, and nobody sees it."""
    jobs = [job for workflow in WORKFLOWS.values() for job in workflow["jobs"].values()]
    runs = {"make test", "make coverage", "make test-nightly"}
    whole = [job["steps"] for job in jobs if runs & {step.get("run") for step in job.get("steps", ())}]
    assert len(whole) == 3
    for steps in whole:
        (helm,) = [step for step in steps if step.get("uses", "").startswith("azure/setup-helm@")]
        assert re.fullmatch(r"v\d+\.\d+\.\d+", helm["with"]["version"])


def test_every_action_is_a_commit_and_an_image_has_its_parts_list() -> None:
    """A tag could be moved; ours stand in this repository. A release says what is in its image."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / ".github").rglob("*.yaml")]
    used = re.findall(r"uses: +(\S+)", "\n".join(texts))
    assert used
    assert [one for one in used if not re.search(r"^\./|@[0-9a-f]{40}$", one)] == []


SCAFFOLDED = ROOT / "controller/cli/templates/project/DOTgithub/workflows/release.yaml.tmpl"


def test_an_image_has_two_platforms_a_parts_list_and_a_signature() -> None:
    """By its digest: a tag may move. Ours, and that of a project."""
    texts = [SCAFFOLDED.read_text(encoding="utf-8"), str(WORKFLOWS["publish"]["jobs"]["images"])]
    for text in texts:
        built = re.search(
            r"docker buildx build .*--platform linux/amd64,linux/arm64 .*cosign sign --yes \S+@",
            text,
            re.DOTALL,
        )
        assert built
        assert "--sbom=true --provenance=mode=max" in built[0]


def test_a_dry_release_does_all_but_sign_and_push() -> None:
    """Each step that writes elsewhere says when; CI calls the same workflow without that."""
    jobs = WORKFLOWS["publish"]["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    writing = [
        one for one in steps if re.search("cosign sign|login|helm push|--push", str(one.get("run", "")))
    ]
    guarded = [one for one in writing if one.get("if") == "inputs.push"]
    (image,) = (one for one in writing if one not in guarded)
    assert image["env"]["PUSH"] == "${{ inputs.push && '--push' || '' }}"
    assert 'test -z "$PUSH" || cosign sign' in image["run"]
    assert len(guarded) == 3
    called = {name: flow["jobs"] for name, flow in WORKFLOWS.items()}
    assert "with" not in called["ci"]["dry-release"]
    assert called["release"]["publish"]["with"]["push"] is True
    assert called["release"]["publish"]["needs"] == ["ci", "version"]
    assert called["release"]["pypi"]["needs"] == "publish"


def test_its_page_names_the_four_projects() -> None:
    """By their names on the index."""
    text = (ROOT / "RELEASING.md").read_text(encoding="utf-8")
    projects = [ROOT, *(ROOT / name for name in ("sandbox", "explore", "learn"))]
    documents = [tomllib.loads((path / "pyproject.toml").read_text(encoding="utf-8")) for path in projects]
    assert all(f"`{one['project']['name']}`" in text for one in documents)
