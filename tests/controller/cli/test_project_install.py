"""What make and the Dockerfile of a project install: its wheel, never what an index has under that name."""

from __future__ import annotations

import hashlib
import http.server
import io
import os
import re
import subprocess
import sys
import sysconfig
import threading
import zipfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final

import pytest

from handloop.controller.cli.project import Project

ON_THE_WAY: Final = re.compile("PIP_|PYTHON|PYTEST|COVERAGE|VIRTUAL_ENV")


def wheel_of(name: str, version: str, files: Mapping[str, bytes]) -> tuple[str, bytes]:
    """A wheel of some files."""
    notes = f"{name}-{version}.dist-info"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)
        wheel.writestr(f"{notes}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{notes}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{notes}/RECORD", "")
    return f"{name}-{version}-py3-none-any.whl", made.getvalue()


def installed_setuptools() -> tuple[str, bytes]:
    """Builds the project in an environment of its own."""
    found = metadata.distribution("setuptools")
    paths = [path for path in found.files or () if path.suffix != ".pyc" and ".." not in path.parts]
    files = {str(path): path.read_binary() for path in paths if ".dist-info/" not in str(path)}
    points = found.read_text("entry_points.txt") or ""
    files[f"setuptools-{found.version}.dist-info/entry_points.txt"] = points.encode()
    return wheel_of("setuptools", found.version, files)


class Index:
    """A package index on loopback. Fields: url; asked = the requested paths."""

    def __init__(self, wheels: Mapping[str, bytes]) -> None:
        asked: list[str] = []

        class Answers(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                name = self.path.rstrip("/").rpartition("/")[2]
                links = [
                    f'<a href="/files/{each}">{each}</a>' for each in wheels if each.startswith(f"{name}-")
                ]
                body = wheels.get(name, "".join(links).encode())
                self.send_response(200)
                kind = "application/octet-stream" if name in wheels else "text/html"
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.asked = asked
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self._server.server_port}/simple"
        self._thread = threading.Thread(target=self._server.serve_forever, name="index")
        self._thread.start()

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def index() -> Iterator[Index]:
    """One in which a stranger has registered our name, with our version and with a higher one."""
    evil = {"handloop/__init__.py": b"raise SystemExit('this is not handloop')\n"}
    served = Index(
        dict([installed_setuptools(), *(wheel_of("handloop", v, evil) for v in ("0.1.0", "99.0"))])
    )
    try:
        yield served
    finally:
        served.close()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An operator of one kind. Its environment sees the dependencies of the tests, but for handloop."""
    made = Project.new(tmp_path / "my-operator", "example.com")
    list(made.write())
    list(made.add_api(group="web", version="v1", kind="Site"))
    return made


def ran(index: Index, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command that knows no index but ours."""
    kept = {name: value for name, value in os.environ.items() if not ON_THE_WAY.match(name)}
    settings = {"PIP_INDEX_URL": index.url, "PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1"}
    settings["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    bin_ = str(Path(sys.executable).parent)
    return subprocess.run(
        command,
        cwd=folder,
        env=kept | settings | {"PATH": f"{bin_}{os.pathsep}{kept['PATH']}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def see_our_dependencies(environment: Path) -> None:
    """They are not in the index."""
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")


def lock(project: Project) -> None:
    """As `make lock` leaves it, without the dependencies that are there already."""
    own, *neighbours = (
        f"./wheels/{wheel.name} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
        for wheel in sorted((project.folder / "wheels").iterdir())
    )
    (project.folder / "requirements.lock").write_text(own, encoding="utf-8")
    (project.folder / "requirements-dev.lock").write_text("".join((own, *neighbours)), encoding="utf-8")


@pytest.mark.parametrize("locked", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_make_takes_the_wheel(project: Project, index: Index, locked: bool) -> None:
    """The index is not asked for handloop; with a lock it is asked for nothing. A lost wheel is no detour."""
    ended = ran(index, project.folder, sys.executable, "-m", "venv", ".venv")
    assert ended.returncode == 0, ended.stderr
    see_our_dependencies(project.folder / ".venv")
    if locked:
        lock(project)
    ended = ran(index, project.folder, "make", "test", "PYTEST_ADDOPTS=-p no:cacheprovider")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "2 passed" in ended.stdout
    assert not [path for path in index.asked if "handloop" in path]
    assert bool(index.asked) is not locked
    (wheel,) = (project.folder / "wheels").glob("handloop-*.whl")
    wheel.unlink()
    (project.folder / ".venv/.installed").unlink()
    assert ran(index, project.folder, "make", ".venv/.installed").returncode != 0
    assert not [path for path in index.asked if "handloop" in path]


@pytest.mark.parametrize("locked", [pytest.param(False, marks=pytest.mark.nightly), True])
def test_the_image_takes_the_wheel(project: Project, index: Index, locked: bool, tmp_path: Path) -> None:
    """The steps of the Dockerfile's first stage; with a lock another wheel of the same name is refused."""
    if locked:
        lock(project)
    recipe = (project.folder / "Dockerfile").read_text(encoding="utf-8").split("\nFROM ")[1]
    steps = re.findall(r"^RUN ((?:.*\\\n)*.*)$", recipe, re.MULTILINE)
    environment, install = (step.replace("/opt/my-operator", str(tmp_path / "opt")) for step in steps)
    assert ran(index, project.folder, "sh", "-ec", environment).returncode == 0
    see_our_dependencies(tmp_path / "opt")
    # nothing but the package itself is compiled here: it takes longest, and is not the question
    install = re.sub(r"-x /kubernetes/ \S+/lib", str(project.folder / "my_operator"), install)
    ended = ran(index, project.folder, "sh", "-ec", install)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "my-operator 0.1.0 (handloop 0.1.0" in ended.stdout
    assert not [path for path in index.asked if "handloop" in path]
    assert bool(index.asked) is not locked
    if locked:
        (wheel,) = (project.folder / "wheels").glob("handloop-*.whl")
        wheel.write_bytes(wheel_of("handloop", "0.1.0", {})[1])
        assert ran(index, project.folder, "sh", "-ec", install).returncode != 0
