"""
Builds wheels of the running handloop and its neighbours for a project, from a checkout or an installation.

The wheels are built from the packages' files, without a package index or a build tool. The same files always
result in the same wheels. The wheel of handloop requires the `kubernetes` package only with an extra. That
package takes up 75 MiB, and is only used for auth providers in a kubeconfig. A pod has no kubeconfig.

Follows: the binary distribution format of packaging.python.org.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from handloop.controller.cli.extensions import extension, is_installed
from handloop.controller.cli.version import DISTRIBUTION, checkout, local_version, shipped_files

_PACKAGE: Final = Path(__file__).parents[2]
_TAG: Final = "py3-none-any"
_WHEEL: Final = f"Wheel-Version: 1.0\nGenerator: {DISTRIBUTION}\nRoot-Is-Purelib: true\nTag: {_TAG}\n"
_LICENSE: Final = "licenses/LICENSE"
_EXTRA_ALONE: Final = re.compile(r"^Requires-Dist: kubernetes\b[^;\n]*\n", re.MULTILINE)
"""The unconditional requirement for `kubernetes`. The extra auth-providers also requires this package."""


def own_wheel() -> tuple[str, bytes]:
    """Return the file name and the content of handloop's wheel. Raises: OSError if a file cannot be read."""
    return _wheel(DISTRIBUTION, _PACKAGE)


def neighbour_wheels() -> Mapping[str, tuple[str, bytes]]:
    """
    Return the wheels that a project's tests need, by the name of the extra. If learn is installed, add its
    wheel.

    Raises: OSError if a file cannot be read; NotInstalledError if one of the packages is not installed.
    """
    programs = {"sandbox": "sandbox", "explore": "explore"}
    if is_installed("walkthrough"):
        programs["learn"] = "walkthrough"
    return {
        extra: _wheel(f"{DISTRIBUTION}-{extra}", Path(extension(program).__file__).parent)
        for extra, program in programs.items()
    }


def _wheel(distribution: str, package: Path) -> tuple[str, bytes]:
    project = checkout(package.parent, distribution)
    if project:
        # A neighbouring project is a folder in the repository.
        top = package.parent if distribution == DISTRIBUTION else package.parent.parent
        project = {**project, "version": project["version"] + local_version(package, top)}
    version = project["version"] if project else metadata.version(distribution)
    name = f"{distribution.replace('-', '_')}-{version}"
    notes = {"WHEEL": _WHEEL, **_notes(package.parent, distribution, project)}
    notes["METADATA"] = _EXTRA_ALONE.sub("", notes["METADATA"])
    files = dict(shipped_files(package))
    files |= {f"{name}.dist-info/{note}": text.encode() for note, text in notes.items()}
    record = f"{name}.dist-info/RECORD"
    rows = [f"{path},sha256={_digest(content)},{len(content)}\n" for path, content in files.items()]
    files[record] = "".join([*rows, f"{record},,\n"]).encode()
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path)  # always dated 1980, so that the same files give the same wheel
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return f"{name}-{_TAG}.whl", wheel.getvalue()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _notes(root: Path, distribution: str, project: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the files that pip and importlib.metadata read, from the checkout or the installed package."""
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
    for extra, packages in project.get("optional-dependencies", {}).items():
        yield f"Provides-Extra: {extra}"
        yield from (f'Requires-Dist: {needed}; extra == "{extra}"' for needed in packages)
