"""`handloop update`: projects of older handloops, and what their people made of them."""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from handloop.controller.cli.main import run_command
from handloop.controller.cli.project import TEMPLATES, Project
from handloop.controller.program import PROGRAM
from support.checks.output import Ended

OLDEST: Final = Path(__file__).with_name("project_of_9f8d0d3d.zip")
"""As handloop wrote it at that commit: `init memo-operator`, `create api --kind Site`."""


def git(*words: str) -> str:
    """Run git in the working directory."""
    person = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    return subprocess.run(["git", *person, *words], check=True, capture_output=True, text=True).stdout


def commit() -> None:
    """Commit all of the working directory."""
    git("add", "--all")
    git("commit", "--quiet", "--allow-empty", "--message=one")


@pytest.fixture
def updated(capsys: pytest.CaptureFixture[str]) -> Callable[[], Ended]:
    """Commits, and runs the command."""

    def run_it() -> Ended:
        commit()
        return Ended(run_command(PROGRAM, ["update"]), *capsys.readouterr())

    return run_it


@pytest.fixture
def oldest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of before there were wheels, in the working directory."""
    folder = tmp_path / "memo-operator"
    with zipfile.ZipFile(OLDEST) as archive:
        archive.extractall(folder)
    monkeypatch.chdir(folder)
    git("init", "--quiet")
    return folder


@pytest.fixture
def older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of this handloop but for its Dockerfile, of a wheel of its own; with a controller, too."""
    folder = tmp_path / "my-operator"
    project = Project.new(folder, "example.com")
    for lines in (
        project.write(),
        project.add_api(group="web", version="v1", kind="Site"),
        project.add_controller("v1", "Pod"),
    ):
        list(lines)
    (wheel,) = (folder / "wheels").glob("handloop-*")
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if "/templates/" in name}
    (name,) = (name for name in files if name.endswith("templates/project/Dockerfile.tmpl"))
    files[name] = b"# of before\n" + files[name]
    wheel.unlink()
    with zipfile.ZipFile(folder / "wheels/handloop-0.0.9-py3-none-any.whl", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr("handloop/controller/cli/templates/../../../../../escaped", b"")
    for place in ("pyproject.toml", "requirements.in", "requirements-dev.in"):
        text = (
            (folder / place)
            .read_text(encoding="utf-8")
            .replace(wheel.name, "handloop-0.0.9-py3-none-any.whl")
        )
        (folder / place).write_text(text, encoding="utf-8")
    docker = folder / "Dockerfile"
    docker.write_text(f"# of before\n{docker.read_text(encoding='utf-8')}", encoding="utf-8")
    monkeypatch.chdir(folder)
    git("init", "--quiet")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder, but for git's and the wheels."""
    places = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {
        place: path.read_bytes()
        for place, path in places.items()
        if place.split("/")[0] not in (".git", "wheels")
    }


def test_the_oldest_is_known_to_the_byte(oldest: Path, tmp_path: Path) -> None:
    """What is kept of its templates writes what it wrote: else its own words would pass for its people's."""
    project = Project.at(oldest)
    again = Project(
        folder=tmp_path / "again",
        name=project.name,
        domain=project.domain,
        templates=TEMPLATES / "older/9f8d0d3d",
    )
    list(again.write_scaffold({}))
    list(again.add_api(group="web", version="v1", kind="Site"))
    assert contents(again.folder) == contents(oldest)


def test_the_oldest_becomes_what_init_writes_now(
    oldest: Path, tmp_path: Path, updated: Callable[[], Ended]
) -> None:
    """With its kind. A second time there is nothing to do."""
    ended = updated()
    assert (ended.code, ended.err) == (0, "")
    fresh = Project.new(tmp_path / "fresh/memo-operator", "example.com")
    list(fresh.write())
    list(fresh.add_api(group="web", version="v1", kind="Site"))
    assert contents(oldest) == contents(fresh.folder)
    assert {path.name for path in (oldest / "wheels").iterdir()} == {
        path.name for path in (fresh.folder / "wheels").iterdir()
    }
    assert updated() == Ended(0, "nothing to do: the project is up to date with this handloop\n", "")


def test_what_its_people_made_stays(oldest: Path, updated: Callable[[], Ended]) -> None:
    """Changes elsewhere in a file are merged; files of theirs, and what they deleted, are left alone."""
    deployment, sample = Path("manifests/manager/deployment.yaml"), Path("manifests/samples/site.yaml")
    text = deployment.read_text(encoding="utf-8")
    assert "replicas: 1" in text or "replicas: 2" in text
    Path("mine.py").write_text("mine = 1\n", encoding="utf-8")
    makefile = Path("Makefile").read_text(encoding="utf-8")
    Path("Makefile").write_text(f"{makefile}\nmine:\n\techo mine\n", encoding="utf-8")
    sample.unlink()
    Path("Dockerfile").unlink()
    ended = updated()
    assert "kept deleted: Dockerfile\n" in ended.out
    assert "\nmine:\n\techo mine\n" in Path("Makefile").read_text(encoding="utf-8")
    assert "chart:" in Path("Makefile").read_text(encoding="utf-8")
    assert Path("mine.py").exists()
    assert not sample.exists()
    assert not Path("Dockerfile").exists()


def test_what_both_changed_is_shown_as_git_shows_it(oldest: Path, updated: Callable[[], Ended]) -> None:
    """The rest of the file is merged; the exit code is 1, and the last words name the file."""
    path = Path("pyproject.toml")
    text = path.read_text(encoding="utf-8")
    assert 'version = "0.1.0"' in text
    path.write_text(text.replace('version = "0.1.0"', 'version = "7.0.0"'), encoding="utf-8")
    ended = updated()
    assert ended.code == 1
    assert "conflict: pyproject.toml, in 1 place\n" in ended.out
    assert "  resolve the conflict in pyproject.toml\n" in ended.out
    merged = path.read_text(encoding="utf-8")
    assert merged.count("<<<<<<< yours\n") == merged.count(">>>>>>> handloop\n") == 1
    assert 'version = "7.0.0"' in merged
    assert "[tool.setuptools.dynamic]" in merged


def test_lines_may_end_as_on_windows(older: Path, updated: Callable[[], Ended]) -> None:
    """What is merged ends as the file does."""
    path = Path("Dockerfile")
    text = path.read_text(encoding="utf-8")
    path.write_bytes(f"{text}# mine\n".replace("\n", "\r\n").encode())
    assert updated().code == 0
    content = path.read_bytes()
    assert content.endswith(b"# mine\r\n")
    assert not content.startswith(b"# of before")
    assert content.count(b"\r\n") == content.count(b"\n")


def test_the_templates_of_its_wheel_say_what_it_was(older: Path, updated: Callable[[], Ended]) -> None:
    """What only the newer wheel has comes in; nothing else changes; nothing is written outside."""
    reconciler = Path("my_operator/site/reconciler.py")
    reconciler.write_text("# mine\n", encoding="utf-8")
    ended = updated()
    assert ended.code == 0
    places = [
        line
        for line in ended.out.splitlines()
        if line.startswith(("updated", "new", "deleted", "kept", "con"))
    ]
    assert places[:2] == ["updated: Dockerfile", "updated: pyproject.toml"]
    assert sorted(places[2:4]) == ["updated: requirements-dev.in", "updated: requirements.in"]
    assert places[-1] == "deleted: wheels/handloop-0.0.9-py3-none-any.whl"
    assert len(places) == 6
    assert not Path("Dockerfile").read_text(encoding="utf-8").startswith("# of before")
    assert reconciler.read_text(encoding="utf-8") == "# mine\n"
    assert not list(older.parent.rglob("escaped"))


def link() -> None:
    """A link in place of a file."""
    Path("Dockerfile").unlink()
    Path("Dockerfile").symlink_to("/dev/null")


def link_folder() -> None:
    """A link in place of a folder."""
    Path("wheels").rename("../elsewhere")
    Path("wheels").symlink_to("../elsewhere")


@pytest.mark.parametrize(
    ("spoil", "told", "fix"),
    [
        pytest.param(
            lambda: Path("mine").touch(),
            "the project has uncommitted changes",
            "git commit",
            id="dirty",
        ),
        pytest.param(
            lambda: Path("wheels/handloop-0.0.9-py3-none-any.whl").rename(
                "wheels/handloop-2-py3-none-any.whl"
            ),
            "handloop-0.0.9-py3-none-any.whl wrote this project, "
            "but the folder wheels contains handloop-2-py3-none-any.whl",
            "restore the older wheel",
            id="another wheel",
        ),
        pytest.param(
            lambda: Path("wheels/handloop-0.0.9-py3-none-any.whl").write_text("", encoding="utf-8"),
            "wheels/handloop-0.0.9-py3-none-any.whl is not a wheel",
            "git checkout",
            id="spoilt wheel",
        ),
        pytest.param(
            link,
            "Dockerfile is a link",
            "rm Dockerfile",
            id="link",
        ),
        pytest.param(
            link_folder,
            "wheels/any is a link",
            "rm wheels",
            id="link to a folder",
        ),
        pytest.param(
            lambda: Path("Dockerfile").write_bytes(b"\0binary"),
            "git cannot merge Dockerfile: error: Cannot merge binary files",
            "",
            id="binary",
        ),
    ],
)
def test_what_cannot_be_merged_is_refused(
    older: Path, spoil: Callable[[], object], told: str, fix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With exit code 2, and nothing is changed."""
    commit()
    spoil()
    if "committed" not in told:
        commit()
    assert run_command(PROGRAM, ["update"]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert (f"fix: {fix}" in said) is bool(fix)
    assert git("status", "--porcelain").strip() in ("", "?? mine")
