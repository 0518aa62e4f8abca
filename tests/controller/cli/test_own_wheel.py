"""The wheel of the handloop that runs. Beside one that setuptools builds: tests/test_package.py."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

import pytest

from handloop.controller.cli import own_wheel as own_wheel_module
from handloop.controller.cli.own_wheel import own_wheel
from handloop.controller.cli.version import exact_version


def test_the_same_files_give_the_same_bytes() -> None:
    """A second `init` keeps the wheel, and does not call it edited."""
    assert own_wheel() == own_wheel()


def test_its_record_names_every_file_once() -> None:
    """Folders that are links are in it, and nothing that Python has compiled."""
    with zipfile.ZipFile(io.BytesIO(own_wheel()[1])) as wheel:
        names = wheel.namelist()
        (record,) = [name for name in names if name.endswith("/RECORD")]
        rows = list(csv.reader(io.StringIO(wheel.read(record).decode())))
    assert [row[0] for row in rows] == names
    assert {"handloop/py.typed", "handloop/controller/cli/errors.md"} < set(names)
    assert not [name for name in names if "__pycache__" in name]


def test_its_name_tells_its_content_and_the_kubernetes_package_is_an_extra() -> None:
    """Nothing but the extra asks for it; a checkout's version is that of `version`."""
    name, content = own_wheel()
    assert name == f"handloop-{exact_version()}-py3-none-any.whl"
    with zipfile.ZipFile(io.BytesIO(content)) as wheel:
        (told,) = [wheel.read(each).decode() for each in wheel.namelist() if each.endswith("/METADATA")]
    needed = [line for line in told.splitlines() if line.startswith("Requires-Dist: kubernetes")]
    assert [line.partition("; ")[2] for line in needed] == ['extra == "auth-providers"']
    assert "Requires-Dist: httptools" in told


def test_what_lies_about_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor's lock in the package, and another package's project file beside it."""
    package = tmp_path / "handloop"
    package.mkdir()
    (package / "a.py").touch()
    (package / ".#a.py").symlink_to("somebody@somewhere:1")
    (tmp_path / "pyproject.toml").write_text("[tool.black]")
    (tmp_path / "handloop-9.dist-info").mkdir()
    (tmp_path / "handloop-9.dist-info/METADATA").write_text("Name: handloop\nVersion: 9\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(own_wheel_module, "_PACKAGE", package)
    with zipfile.ZipFile(io.BytesIO(own_wheel()[1])) as wheel:
        names = [name for name in wheel.namelist() if "dist-info" not in name]
        (metadata,) = [wheel.read(name) for name in wheel.namelist() if name.endswith("/METADATA")]
    assert (names, metadata) == (["handloop/a.py"], b"Name: handloop\nVersion: 9\n")
