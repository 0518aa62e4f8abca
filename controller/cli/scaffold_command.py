"""
`init`, `create` and `update`: commands that write an operator's project.

`init` creates the project. `create` adds a kind, a version, a controller or a view. `update` merges a newer
handloop's scaffold.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from yaml import YAMLError

from handloop.apis.grammar.yaml_text import from_yaml
from handloop.client.config import load_config
from handloop.client.errors import ClientError, ConfigError, NotFound
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.definition_source import DEFINITIONS_PATH
from handloop.controller.cli.extensions import NotInstalledError
from handloop.controller.cli.problems import EXIT_FATAL, EXIT_OK, EXIT_USAGE
from handloop.controller.cli.project import Project, ProjectError, module_of
from handloop.controller.cli.project_update import update
from handloop.controller.cli.terminal import printable, show
from handloop.controller.cli.view import ViewError, class_of, view_of

_NEXT_OF_INIT = """\
next:
  cd {folder}
  handloop create api --group web --version v1 --kind Site
"""
_NEXT_OF_UPDATE = """\
next:
  git diff{conflicts}{lock}
  make lint && make test && make manifests
"""
_NEXT_OF_VIEW = """\
next:
  from {package}.views.{module} import {kind}
  read it in a reconcile: context.lister_for({kind}), with .watches({kind}, ...) at the controller
"""
_NEXT_OF_VERSION = """\
next:
  add fields in {package}/{module}/types.py; keep the fields of the version before unchanged
  make manifests && make crd-diff OLD=git:HEAD
"""
_NEXT_OF_FUNCTIONS = """\
next:
  change fields in {package}/{module}/types.py, and adapt from_previous and to_previous
  add cryptography to requirements.in, for the webhook's certificate
  make test && make manifests
"""
_NEXT_OF_API = """\
next:
  make run
  kubectl --kubeconfig .sandbox/kubeconfig apply -f manifests/samples/{module}.yaml   (in another terminal)
"""


def run_scaffold(command: str, arguments: Sequence[str]) -> int:
    """
    Run `init`, `create` or `update` in the working directory.

    Returns: the exit code, which is 1 if an update has conflicts.
    Raises: SystemExit from argparse, after its help or a message about bad arguments.
    """
    given = _parser(command).parse_args(arguments)
    try:
        if command == "init":
            folder = Path(given.name)
            _say(Project.new(folder, given.domain).write(), _NEXT_OF_INIT.format(folder=folder), sys.stdout)
        elif command == "update":
            return _update(Project.at(Path()))
        else:
            _create(Project.at(Path()), given)
    except NotInstalledError as error:
        show(f"error: {error}\n", sys.stderr)
        return EXIT_USAGE
    except (ConfigError, ClientError) as error:
        show(f"error: {printable(str(error))}\n", sys.stderr)
        return EXIT_FATAL
    except (ProjectError, ViewError) as error:
        fix = f"  fix: {error.fix}\n" if error.fix else ""
        show(f"error: {printable(str(error))}\n{fix}", sys.stderr)
        return EXIT_USAGE
    except OSError as error:
        show(f"error: {printable(str(error))}\n", sys.stderr)
        return EXIT_FATAL
    return EXIT_OK


def _create(project: Project, given: argparse.Namespace) -> None:
    """Add the requested files, and print what to type next. Raises: the errors that run_scaffold handles."""
    if given.what == "view":
        kind = _add_view(project, given)
        names = {"package": project.package, "module": module_of(kind), "kind": kind}
        show(_NEXT_OF_VIEW.format(**names), sys.stdout)
    elif given.what == "version":
        added = project.add_version(given.kind, given.version, functions=given.functions)
        names = {"package": project.package, "module": module_of(given.kind)}
        told = _NEXT_OF_FUNCTIONS if given.functions else _NEXT_OF_VERSION
        _say(added, told.format(**names), sys.stdout)
    elif given.what == "api":
        names = {"group": given.group, "version": given.version, "kind": given.kind}
        added = project.add_api(**names, scope=given.scope)
        _say(added, _NEXT_OF_API.format(module=module_of(given.kind)), sys.stdout)
    else:
        api_version, _, kind = given.of.rpartition("/")
        added = project.add_controller(api_version, kind)
        _say(added, _NEXT_OF_API.format(module=module_of(kind)), sys.stdout)


def _update(project: Project) -> int:
    """Merge the newer scaffold, and print what to do next. Raises: the errors that run_scaffold handles."""
    changes = update(project)
    if not changes.lines:
        show("nothing to do: the project is up to date with this handloop\n", sys.stdout)
        return EXIT_OK
    conflicts = "".join(
        f"\n  resolve the {f'{n} conflicts' if n > 1 else 'conflict'} in {place}"
        for place, n in changes.conflicts.items()
    )
    lock = "\n  make lock" if list(project.folder.glob("*.lock")) else ""
    _say(iter(changes.lines), _NEXT_OF_UPDATE.format(conflicts=conflicts, lock=lock), sys.stdout)
    return EXIT_FATAL if changes.conflicts else EXIT_OK


def _add_view(project: Project, given: argparse.Namespace) -> str:
    """
    Write a view of a kind that is installed, or whose definition is in a file.

    Returns: the name of the view's class. Raises: the errors that run_scaffold handles.
    """
    definition = _from_file(given.crd, given.of) if given.crd else _installed(given)
    fields = [path for path in given.fields.split(",") if path.strip()]
    text = view_of(definition, fields, version=given.version)
    kind = class_of(definition)
    for line in project.add_view(kind, text):
        again = "\n  fix: to write it again, delete it first" if line.startswith("kept: ") else ""
        show(f"{line}{again}\n", sys.stdout)
    return kind


def _from_file(path: str, name: str) -> Mapping[str, Any]:
    try:
        documents = from_yaml(Path(path).read_text(encoding="utf-8"))
    except (YAMLError, UnicodeDecodeError) as error:
        raise ViewError(f"{path} cannot be read: {error}") from error
    for each in documents:
        if isinstance(each, dict) and (each.get("metadata") or {}).get("name") == name:
            return each
    raise ViewError(f"{path} holds no CustomResourceDefinition {name}")


def _installed(given: argparse.Namespace) -> Mapping[str, Any]:
    config = load_config(kubeconfig=given.kubeconfig, context=given.context)
    with closing(HTTPTransport(config)) as transport:
        try:
            body = Client(transport).get_raw(f"{DEFINITIONS_PATH}/{quote(given.of, safe='')}")
        except NotFound:
            fix = "kubectl get crds, or --crd FILE if it is not installed"
            raise ViewError(f"the cluster has no CustomResourceDefinition {given.of}", fix) from None
    found: Mapping[str, Any] = json.loads(body)
    return found


def _say(lines: Iterator[str], after: str, stream: TextIO) -> None:
    """Print a line for each file once it is written."""
    for line in lines:
        show(f"{line}\n", stream)
    show(after, stream)


def _parser(command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"handloop {command}", allow_abbrev=False)
    if command == "init":
        parser.description = "Create an operator's project. Existing files are kept."
        parser.add_argument(
            "name", help="the project's folder, whose name is also the operator's: my-operator"
        )
        parser.add_argument("--domain", required=True, help="the suffix of its kinds' groups: example.com")
        return parser
    if command == "update":
        parser.description = (
            "Merge what is new in the scaffold into the project in this folder. Your changes are kept. If "
            "both sides changed the same lines, git's conflict markers are written, and the exit code is 1."
        )
        return parser
    parser.description = "Add files to the project in this folder. Existing files are kept."
    what = parser.add_subparsers(dest="what", required=True)
    api = what.add_parser("api", help="a kind of your own, with its controller", allow_abbrev=False)
    api.add_argument("--group", required=True, help="the group without the domain, such as web")
    api.add_argument("--version", required=True, help="such as v1, or v1alpha1")
    api.add_argument("--kind", required=True, help="such as Site")
    scopes, told = ("Namespaced", "Cluster"), "Cluster: its objects have no namespace"
    api.add_argument("--scope", choices=scopes, default=scopes[0], help=told)
    controller = what.add_parser("controller", help="a controller for a built-in kind", allow_abbrev=False)
    controller.add_argument(
        "--for", dest="of", metavar="KIND", required=True, help="such as apps/v1/Deployment, or v1/Pod"
    )
    version = what.add_parser("version", help="a new version of a kind of your own", allow_abbrev=False)
    version.add_argument("--kind", required=True, help="such as Site")
    version.add_argument("--version", required=True, help="such as v1, or v1beta1")
    told = (
        "also write two functions that convert to and from the previous version, for example when fields "
        "move, and a test of these functions"
    )
    version.add_argument("--functions", action="store_true", help=told)
    view = what.add_parser("view", help="a type for reading another program's kind", allow_abbrev=False)
    add = view.add_argument
    add("--for", dest="of", metavar="NAME", required=True, help="its CRD: certificates.cert-manager.io")
    told = "the fields to read, such as spec.secretName,status.conditions; by default all of spec and status"
    add("--fields", default="", metavar="PATH,PATH", help=told)
    add("--version", default="", help="by default the stored one")
    add("--crd", default="", metavar="FILE", help="read the CRD from this file, not from the cluster")
    add("--kubeconfig", help="by default as for kubectl")
    add("--context", help="of the kubeconfig")
    return parser
