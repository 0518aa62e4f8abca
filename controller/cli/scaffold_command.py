"""`init` and `create`: make the project of an operator, and add a kind or a controller to it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from handloop.controller.cli.extensions import NotInstalledError
from handloop.controller.cli.problems import EXIT_FATAL, EXIT_OK, EXIT_USAGE
from handloop.controller.cli.project import Project, ProjectError, module_of
from handloop.controller.cli.terminal import printable, show

_NEXT_OF_INIT = """\
next:
  cd {folder}
  handloop create api --group web --version v1 --kind Site
"""
_NEXT_OF_API = """\
next:
  make run
  kubectl --kubeconfig .sandbox/kubeconfig apply -f manifests/samples/{module}.yaml   (in another terminal)
"""


def run_scaffold(command: str, arguments: Sequence[str]) -> int:
    """
    Run `init` or `create`, in the working directory.

    Returns: the exit code. Raises: SystemExit of argparse, after its help or its words on bad arguments.
    """
    given = _parser(command).parse_args(arguments)
    try:
        if command == "init":
            folder = Path(given.name)
            _say(Project.new(folder, given.domain).write(), _NEXT_OF_INIT.format(folder=folder), sys.stdout)
        else:
            project = Project.at(Path())
            if given.what == "api":
                names = {"group": given.group, "version": given.version, "kind": given.kind}
                added, kind = project.add_api(**names, scope=given.scope), given.kind
            else:
                api_version, _, kind = given.of.rpartition("/")
                added = project.add_controller(api_version, kind)
            _say(added, _NEXT_OF_API.format(module=module_of(kind)), sys.stdout)
    except NotInstalledError as error:
        show(f"error: {error}\n", sys.stderr)
        return EXIT_USAGE
    except ProjectError as error:
        fix = f"  fix: {error.fix}\n" if error.fix else ""
        show(f"error: {printable(str(error))}\n{fix}", sys.stderr)
        return EXIT_USAGE
    except OSError as error:
        show(f"error: {printable(str(error))}\n", sys.stderr)
        return EXIT_FATAL
    return EXIT_OK


def _say(lines: Iterator[str], after: str, stream: TextIO) -> None:
    """Tell of each file once it is done."""
    for line in lines:
        show(f"{line}\n", stream)
    show(after, stream)


def _parser(command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"handloop {command}", allow_abbrev=False)
    if command == "init":
        parser.description = "Make the project of an operator. A file that exists is kept."
        parser.add_argument("name", help="its folder, named as the operator: my-operator")
        parser.add_argument("--domain", required=True, help="the end of its kinds' groups: example.com")
        return parser
    parser.description = "Add to the project in this folder. A file that exists is kept."
    what = parser.add_subparsers(dest="what", required=True)
    api = what.add_parser("api", help="a kind of your own, with its controller", allow_abbrev=False)
    api.add_argument("--group", required=True, help="the group before the domain, such as web")
    api.add_argument("--version", required=True, help="such as v1, or v1alpha1")
    api.add_argument("--kind", required=True, help="such as Site")
    scopes, told = ("Namespaced", "Cluster"), "Cluster: its objects are in no namespace"
    api.add_argument("--scope", choices=scopes, default=scopes[0], help=told)
    controller = what.add_parser("controller", help="a controller for a built-in kind", allow_abbrev=False)
    controller.add_argument(
        "--for", dest="of", metavar="KIND", required=True, help="such as apps/v1/Deployment, or v1/Pod"
    )
    return parser
