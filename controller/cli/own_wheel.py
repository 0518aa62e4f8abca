"""
The handloop and the sandbox that run, as wheels for a project: of a checkout, an editable install or wheels.

They are made of the files of the packages, so that no package index and no build tool is asked. The same
files give the same bytes.

Follows: the binary distribution format of packaging.python.org.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import zipfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from handloop.controller.cli.extensions import extension
from handloop.controller.cli.version import DISTRIBUTION, checkout

_PACKAGE: Final = Path(__file__).parents[2]
_TAG: Final = "py3-none-any"
_SANDBOX: Final = "handloop-sandbox"
_WHEEL: Final = f"Wheel-Version: 1.0\nGenerator: {DISTRIBUTION}\nRoot-Is-Purelib: true\nTag: {_TAG}\n"
_LICENSE: Final = "licenses/LICENSE"


def own_wheel() -> tuple[str, bytes]:
    """The file name and the content of handloop's. Raises: OSError."""
    return _wheel(DISTRIBUTION, _PACKAGE)


def sandbox_wheel() -> tuple[str, bytes]:
    """The same of the sandbox's. Raises: OSError, NotInstalledError."""
    return _wheel(_SANDBOX, Path(extension("sandbox").__file__).parent)


def _wheel(distribution: str, package: Path) -> tuple[str, bytes]:
    project = checkout(package.parent, distribution)
    version = project["version"] if project else metadata.version(distribution)
    name = f"{distribution.replace('-', '_')}-{version}"
    notes = {"WHEEL": _WHEEL, **_notes(package.parent, distribution, project)}
    files = dict(_files(package))
    files |= {f"{name}.dist-info/{note}": text.encode() for note, text in notes.items()}
    record = f"{name}.dist-info/RECORD"
    rows = [f"{path},sha256={_digest(content)},{len(content)}\n" for path, content in files.items()]
    files[record] = "".join([*rows, f"{record},,\n"]).encode()
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path)  # of 1980, as every entry: a time would change the bytes
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return f"{name}-{_TAG}.whl", wheel.getvalue()


def _files(package: Path) -> Iterator[tuple[str, bytes]]:
    """The files of the package. In a checkout its folders are links."""
    for folder, folders, names in os.walk(package, followlinks=True):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        for path in (Path(folder, name) for name in sorted(names)):
            # an editor's lock is a link to nowhere
            if path.suffix != ".pyc" and path.is_file():
                yield str(path.relative_to(package.parent)), path.read_bytes()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _notes(root: Path, distribution: str, project: Mapping[str, Any]) -> Mapping[str, str]:
    """The metadata for pip and importlib.metadata: of the checkout's pyproject.toml, else as installed."""
    if not project:
        installed = metadata.distribution(distribution)
        notes = {note: installed.read_text(note) for note in ("METADATA", "entry_points.txt", _LICENSE)}
        return {note: text for note, text in notes.items() if text}
    points = {"console_scripts": project.get("scripts", {}), **project["entry-points"]}
    return {
        "METADATA": "".join(f"{line}\n" for line in _metadata(project)),
        "entry_points.txt": "".join(
            "\n".join([f"[{group}]", *(f"{name} = {place}" for name, place in sorted(names.items())), ""])
            for group, names in sorted(points.items())
            if names
        ),
        _LICENSE: (root / "LICENSE").read_text(encoding="utf-8"),
    }


def _metadata(project: Mapping[str, Any]) -> Iterator[str]:
    yield "Metadata-Version: 2.4"
    yield f"Name: {project['name']}"
    yield f"Version: {project['version']}"
    yield f"Summary: {project['description']}"
    yield f"License-Expression: {project['license']}"
    yield "License-File: LICENSE"
    yield f"Requires-Python: {project['requires-python']}"
    yield from (f"Requires-Dist: {needed}" for needed in project["dependencies"])
    for extra, packages in project["optional-dependencies"].items():
        yield f"Provides-Extra: {extra}"
        yield from (f'Requires-Dist: {needed}; extra == "{extra}"' for needed in packages)
