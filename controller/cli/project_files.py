"""Reads an operator's project files for `bundle` and `chart`, and writes what these commands generate."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import yaml

from handloop.apis.decoders import converted
from handloop.apis.grammar.yaml_text import from_yaml
from handloop.apis.meta import decode_hook
from handloop.controller.cli.flags import UsageError, parse_options
from handloop.controller.cli.operator import Operator
from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import EXIT_FATAL, EXIT_OK, EXIT_USAGE
from handloop.controller.cli.terminal import printable, show
from handloop.kinds.apps_v1 import Deployment

T = TypeVar("T")

SOMEWHERE: Final = "some-namespace"
"""Stands for a pod's namespace while the namespace is unknown."""
DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"


class ProjectTable(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of the [project] table that bundle and chart copy."""

    version: str = ""
    description: str = ""
    keywords: tuple[str, ...] = ()
    urls: dict[str, str] = {}
    authors: tuple[dict[str, str], ...] = ()
    maintainers: tuple[dict[str, str], ...] = ()


class _HandloopTable(msgspec.Struct, frozen=True):
    name: str = ""


class _ToolTable(msgspec.Struct, frozen=True):
    handloop: _HandloopTable = _HandloopTable()


class _Document(msgspec.Struct, frozen=True):
    """The part of a pyproject.toml that this module reads."""

    project: ProjectTable = ProjectTable()
    tool: _ToolTable = _ToolTable()


def project_table(operator: Operator, words: str) -> ProjectTable:
    """
    Return the [project] table of the working directory, or an empty one if there is no pyproject.toml.

    Args: words are the command and its arguments, which the error message repeats in its suggested fix.
    Raises: UsageError in another operator's project; OSError or UnicodeDecodeError if the file cannot be
    read; tomllib.TOMLDecodeError if it is not TOML.
    """
    path = Path("pyproject.toml")
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    document = fitting(path, tomllib.loads(text), _Document)
    scaffolded = document.tool.handloop.name or operator.name
    if scaffolded != operator.name:
        package = scaffolded.replace("-", "_")
        raise UsageError(
            f"this is the project of {scaffolded}, but the program is {operator.name}",
            fix=f"python -m {package} {words}",
        )
    return document.project


def fitting(path: Path, document: object, kind: type[T]) -> T:
    """Convert a document to a type. Raises: UsageError that names the field if a field is not valid."""
    try:
        return converted(document, kind, decode_hook)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{path} is not valid: {error}", fix="correct the field that the message names"
        ) from None


def read_documents(path: Path) -> list[dict[str, Any]]:
    """
    Return the manifests in a file.

    Raises: OSError or UnicodeDecodeError if the file cannot be read; yaml.YAMLError if it is not YAML.
    """
    text = path.read_text(encoding="utf-8")
    return [found for found in from_yaml(text) if isinstance(found, dict)]


def read_deployment(path: Path) -> dict[str, Any]:
    """
    Return the Deployment in a file, with the operator's container first.

    Raises: UsageError if there is not exactly one Deployment, or its operator container is unknown; and the
    errors that read_documents raises.
    """
    found = [document for document in read_documents(path) if document.get("kind") == "Deployment"]
    if len(found) != 1:
        raise UsageError(f"{path} has {len(found)} Deployments", fix="set --deployment to a file with one")
    deployment = fitting(path, found[0], Deployment)
    if not deployment.metadata.name:
        raise UsageError(f"{path} has a Deployment without a name", fix="set its metadata.name")
    pod = deployment.spec.template
    containers = pod.spec.containers
    named = [one for one in containers[:1] if pod.metadata.annotations.get(DEFAULT_CONTAINER) == one.name]
    if len(containers) != 1 and not named:
        raise UsageError(
            f"{path} has {len(containers)} containers, but does not say which one is the operator",
            fix=f"put the operator's container first, and name it in the annotation {DEFAULT_CONTAINER}",
        )
    return found[0]


def container_options(operator: Operator, container: Mapping[str, Any]) -> Options:
    """
    Return the options with which the program would run in a container.

    The namespace is not known yet, so SOMEWHERE takes its place. Raises: UsageError for arguments that the
    program would refuse.
    """
    variables = {entry["name"]: entry["value"] for entry in container.get("env") or () if "value" in entry}
    variables["POD_NAMESPACE"] = SOMEWHERE
    # Expand variables as a kubelet does.
    args = [
        re.sub(r"\$\((\w+)\)", lambda found: str(variables.get(found[1], found[0])), str(word))
        for word in container.get("args") or []
    ]
    try:
        with redirect_stdout(StringIO()):
            return parse_options(args, variables, operator=operator)
    except SystemExit:
        raise UsageError("the Deployment's args ask for help", "remove --help from its args") from None
    except UsageError as error:
        raise UsageError(f"the program would refuse the Deployment's args: {error}", error.fix) from None


def write_made(folder: Path, files: Mapping[str, str], outdated: Iterable[Path]) -> None:
    """
    Delete outdated files, write the given ones below a folder, and print a line for each.

    Raises: OSError if a file cannot be written or deleted.
    """
    for path in outdated:
        path.unlink()
        show(f"removed: {path}\n", sys.stdout)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        show(f"wrote: {path}\n", sys.stdout)


def exit_code_of(write: Callable[[], None], usage: str) -> int:
    """
    Call write, and return the exit code.

    An error is printed as a message. usage is the suggested fix for a UsageError that contains no fix of its
    own.
    """
    try:
        write()
    except UsageError as error:
        show(f"error: {printable(str(error))}\n  fix: {printable(error.fix or usage)}\n", sys.stderr)
        return EXIT_USAGE
    except (OSError, UnicodeDecodeError, yaml.YAMLError, tomllib.TOMLDecodeError) as error:
        show(f"error: {printable(str(error))}\n", sys.stderr)
        return EXIT_FATAL
    return EXIT_OK
