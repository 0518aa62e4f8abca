"""
`update`: brings a newer scaffold into a project, merged with the changes that people made to the older one.

The merge has three sides: what the older handloop wrote, what exists now, and what this handloop would write.
The first side is rebuilt from the templates in the project's wheel, or from templates/older if the project is
older than the wheels.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
import zipfile
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from handloop.controller.cli.extensions import NEIGHBOURS
from handloop.controller.cli.project import NAMESPACED, TEMPLATES, Project, ProjectError, module_of

_IN_WHEEL: Final = "handloop/controller/cli/templates/"
_OLDEST: Final = TEMPLATES / "older/9f8d0d3d"
_WHEEL: Final = re.compile(r"(handloop(?:_(\w+))?)-([^-]+)-.*\.whl")
_KIND: Final = re.compile(
    r'^class (\w+)\(Kind, group="([^"]+)", version="([^"]+)"(?:, scope="(\w+)")?', re.MULTILINE
)
_FOR: Final = re.compile(r"\.for_\((\w+)\)")
_KINDS: Final = re.compile(r"^from (handloop\.kinds\.\w+) import ", re.MULTILINE)
_MOST_CONFLICTS: Final = 127
"""git merge-file's exit code is the number of conflicts, up to this value. Higher codes are errors."""


@dataclass(slots=True)
class Changes:
    """The result of an update: a line for each file, and the number of conflicts by file."""

    lines: list[str] = field(default_factory=list)
    conflicts: dict[str, int] = field(default_factory=dict)


class _Step(NamedTuple):
    """The result for one file. Args: content is None if the file must not exist after the update."""

    place: str
    line: str
    content: bytes | None = None
    conflicts: int = 0


def update(project: Project) -> Changes:
    """
    Merge the newer scaffold into the files of a project.

    Raises: ProjectError if the older scaffold is unknown or the project has uncommitted changes;
    NotInstalledError if a package that the project's tests need is missing; OSError if a file cannot be read
    or written.
    """
    _refuse_uncommitted(project.folder)
    changes = Changes()
    with TemporaryDirectory() as folder:
        before = replace(_older(project, Path(folder, "templates")), folder=Path(folder, "before"))
        after = replace(project, folder=Path(folder, "after"))
        deque(before.write_scaffold(_wheels(project.folder)), maxlen=0)
        deque(after.write(), maxlen=0)
        _add_kinds(project, before)
        _add_kinds(project, after)
        steps = _merge(project.folder, before.folder, after.folder)
        _refuse_link(project.folder, project.folder / "wheels/any")
        _take(project.folder, steps, changes)
        _renew_wheels(project.folder, after.folder / "wheels", changes)
    return changes


def _wheels(folder: Path) -> dict[str, str]:
    """
    Return the file names of a project's wheels by extra, in the order that `init` uses.

    The extra of handloop's own wheel is "".
    """
    names = sorted(path.name for path in folder.glob("wheels/*.whl"))
    wheels = {found[2] or "": name for name in names if (found := _WHEEL.fullmatch(name))}
    return {extra: wheels[extra] for extra in ("", *NEIGHBOURS) if extra in wheels}


def _refuse_uncommitted(folder: Path) -> None:
    """
    Check that all changes are committed, so that they do not get mixed up with the changes of the merge.

    Raises: ProjectError for uncommitted changes in git.
    """
    if shutil.which("git") is None:
        raise ProjectError("git is not installed, but the merge needs it")
    status = _git(folder, "status", "--porcelain", "--", ".")
    if status.returncode == 0 and status.stdout:
        raise ProjectError("the project has uncommitted changes", "git commit, or git stash")


def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False)  # noqa: S603, S607


def _older(project: Project, folder: Path) -> Project:
    """
    Return a copy of the project that uses the older handloop's templates.

    Raises: ProjectError if the older templates are unknown.
    """
    own = _wheels(project.folder).get("", "")
    document = tomllib.loads((project.folder / "pyproject.toml").read_text(encoding="utf-8"))
    written = document["tool"]["handloop"].get("scaffold", "")
    if not own and not written:
        return replace(project, templates=_OLDEST)
    if written not in ("", own):
        problem = f"{written} wrote this project, but the folder wheels contains {own or 'no handloop'}"
        raise ProjectError(problem, "restore the older wheel: the update adds the newer one")
    try:
        with zipfile.ZipFile(project.folder / "wheels" / own) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if name.startswith(_IN_WHEEL)])
    except zipfile.BadZipFile:
        raise ProjectError(f"wheels/{own} is not a wheel", f"git checkout wheels/{own}") from None
    return replace(project, templates=folder / _IN_WHEEL)


def _add_kinds(project: Project, made: Project) -> None:
    """Add the project's kinds to made, which is the recreated project, in the same way as `create` does."""
    for types in sorted((project.folder / project.package).glob("*/types.py")):
        for kind, group, version, scope in _KIND.findall(types.read_text(encoding="utf-8")):
            if module_of(kind) == types.parent.name and group.endswith(f".{project.domain}"):
                first = group.removesuffix(f".{project.domain}")
                added = made.add_api(group=first, version=version, kind=kind, scope=scope or NAMESPACED)
                deque(added, maxlen=0)
    for reconciler in sorted((project.folder / project.package).glob("*/reconciler.py")):
        text = reconciler.read_text(encoding="utf-8")
        if reconciler.with_name("types.py").exists() or not (found := _FOR.search(text)):
            continue
        for module in _KINDS.findall(text):
            kind = getattr(import_module(module), found[1], None)
            if kind is not None and module_of(found[1]) == reconciler.parent.name:
                deque(made.add_controller(kind.resource.api_version, found[1]), maxlen=0)


def _merge(folder: Path, before: Path, after: Path) -> list[_Step]:
    """Return a step for each file that differs between the older and the newer scaffold."""
    steps = []
    for place in sorted(_files(before) | _files(after)):
        own, older, newer = (_content(each / place) for each in (folder, before, after))
        _refuse_link(folder, folder / place)
        if newer in (older, own):
            continue
        if own is None:
            line = f"new: {place}" if older is None else f"kept deleted: {place}"
            steps.append(_Step(place, line, newer if older is None else None))
        elif newer is not None:
            steps.append(_merged(place, own, older or b"", newer))
        elif own == older:
            steps.append(_Step(place, f"deleted: {place}"))
        else:
            steps.append(
                _Step(place, f"kept: {place}, which is yours now, because handloop no longer writes it", own)
            )
    return steps


def _refuse_link(folder: Path, path: Path) -> None:
    """
    Check that a path is in the project.

    Raises: ProjectError for a path that is a link, or that leads out of the project through a link.
    """
    if path.is_symlink() or not path.parent.resolve().is_relative_to(folder.resolve()):
        place = path.relative_to(folder)
        link = next(each for each in (path, *path.parents) if each.is_symlink())
        what = f"{place} is a link: its target would be changed"
        raise ProjectError(what, f"rm {link.relative_to(folder)}")


def _merged(place: str, own: bytes, older: bytes, newer: bytes) -> _Step:
    """
    Merge a file.

    Identical changes on both sides are not a conflict. Raises: ProjectError if git cannot merge the file.
    """
    sides = {"yours": own, "before": older, "handloop": newer}
    if b"\r\n" in own:  # git uses the same line endings in a whole checkout
        sides = {label: re.sub(rb"\r?\n", b"\r\n", content) for label, content in sides.items()}
    with TemporaryDirectory() as folder:
        for label, content in sides.items():
            Path(folder, label).write_bytes(content)
        labels = [word for label in sides for word in ("-L", label)]
        merged = _git(Path(folder), "merge-file", "-p", *labels, *sides)
    conflicts = merged.returncode
    if not 0 <= conflicts <= _MOST_CONFLICTS:
        raise ProjectError(f"git cannot merge {place}: {merged.stderr.decode(errors='replace').strip()}")
    places = f"{conflicts} place{'s' if conflicts > 1 else ''}"
    line = f"conflict: {place}, in {places}" if conflicts else f"updated: {place}"
    return _Step(place, line, merged.stdout, conflicts)


def _take(folder: Path, steps: Iterable[_Step], changes: Changes) -> None:
    """Write the merged files, and delete each file whose step has no content."""
    for step in steps:
        path = folder / step.place
        changes.lines.append(step.line)
        if step.conflicts:
            changes.conflicts[step.place] = step.conflicts
        if step.content is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(step.content)


def _files(folder: Path) -> set[str]:
    """Return the paths of a scaffold's files, without the wheels."""
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    return {place for place in found if not place.startswith("wheels/")}


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _renew_wheels(folder: Path, wheels: Path, changes: Changes) -> None:
    """Replace the older handloop's wheels with those of the running one."""
    for path in sorted(wheels.glob("*.whl")):
        target = folder / "wheels" / path.name
        if _content(target) != path.read_bytes():
            target.parent.mkdir(exist_ok=True)
            shutil.copy(path, target)
            changes.lines.append(f"new: wheels/{path.name}")
    for path in sorted(folder.glob("wheels/*.whl")):
        if _WHEEL.fullmatch(path.name) and not (wheels / path.name).exists():
            path.unlink()
            changes.lines.append(f"deleted: wheels/{path.name}")
