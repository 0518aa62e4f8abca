"""`init` and `create api`: make the project of an operator, and add a kind to it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

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
            added = Project.at(Path()).add_api(group=given.group, version=given.version, kind=given.kind)
            _say(added, _NEXT_OF_API.format(module=module_of(given.kind)), sys.stdout)
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
    parser.description = "Add a kind to the project in this folder. A file that exists is kept."
    parser.add_argument("what", choices=["api"])
    parser.add_argument("--group", required=True, help="the group before the domain, such as web")
    parser.add_argument("--version", required=True, help="such as v1, or v1alpha1")
    parser.add_argument("--kind", required=True, help="such as Site")
    return parser
