"""`crd diff`: shows what a new definition would do to clients and to stored objects, before it is applied."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from handloop.apis.compatibility.definition_changes import NotADefinitionError, definition_changes
from handloop.apis.compatibility.finding import BREAKS, Finding
from handloop.apis.crd import custom_resource_definition
from handloop.client.config import load_config
from handloop.client.errors import ClientError, ConfigError
from handloop.controller.cli.definition_source import CLUSTER, Definitions, SourceError, of_cluster, of_files
from handloop.controller.cli.extensions import NotInstalledError
from handloop.controller.cli.operator import Operator
from handloop.controller.cli.problems import EXIT_OK, EXIT_USAGE
from handloop.controller.cli.terminal import printable, show

EXIT_BREAKS: Final = 1
_PLACES: Final = (
    "a FILE or FOLDER of manifests; git:REV for the manifests/crd of a revision, or git:REV:PATH; "
    "or cluster, for the cluster of --kubeconfig"
)
_WORDS: Final = "description"


def run_crd_diff(operator: Operator, arguments: Sequence[str]) -> int:
    """
    Compare an operator's old and new CustomResourceDefinitions.

    Returns: the exit code, which is 1 if something breaks. Raises: SystemExit if argparse has printed help or
    rejected the arguments; SetUpError if the author's set_up fails.
    """
    given = _parser(operator).parse_args(arguments)
    try:
        found = _compared(operator, given)
    except NotInstalledError as error:
        return _failed(str(error))
    except (SourceError, ConfigError, ClientError) as error:
        return _failed(str(error))
    text = _document(found) if given.output == "json" else _text(found)
    show(text, sys.stdout)
    broken = any(each.severity == BREAKS for findings in found.values() for each in findings)
    return EXIT_BREAKS if broken else EXIT_OK


def _failed(text: str) -> int:
    show(f"error: {printable(text)}\n", sys.stderr)
    return EXIT_USAGE


def _parser(operator: Operator) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{operator.command} crd diff",
        description=(
            "Show what a new definition breaks for clients and for stored objects. "
            "The exit code is 1 if something breaks."
        ),
        epilog=f"OLD and NEW are each {_PLACES}.",
        allow_abbrev=False,
    )
    parser.add_argument("old", metavar="OLD", help="the current definitions")
    parser.add_argument(
        "new", metavar="NEW", nargs="?", help="the new definitions; by default this program's own"
    )
    parser.add_argument("-o", dest="output", choices=("text", "json"), default="text")
    parser.add_argument("--on", metavar="KUBECONFIG", help="also count the affected objects in that cluster")
    parser.add_argument(
        "--kubeconfig", metavar="PATH", help="the kubeconfig to use if OLD or NEW is the word cluster"
    )
    parser.add_argument("--context", help="context in either kubeconfig")
    return parser


def _compared(operator: Operator, given: argparse.Namespace) -> dict[str, list[Finding]]:
    """Return the findings for each definition, by its name."""
    kinds = {kind.resource.group_resource: kind for setup in operator.setups() for kind in setup.kinds}
    new = _own(kinds) if given.new is None else {}
    if given.new not in (None, CLUSTER):
        new = of_files(given.new)
    old = of_files(given.old) if given.old != CLUSTER else {}
    if given.old == CLUSTER:
        old = _of_cluster(given, new)
    if given.new == CLUSTER:
        new = _of_cluster(given, old)
    found = {name: _changes(name, old[name], new[name]) for name in sorted({*old} & {*new})}
    if not found:
        raise SourceError(f"nothing to compare: OLD has {_listed(old)}, NEW has {_listed(new)}")
    for name in sorted({*old} - {*new}) if given.old != CLUSTER else ():
        found[name] = [Finding("definition", BREAKS, "", name, None, "is gone, with all its objects")]
    if given.on:
        _add_stored(found, new, given, kinds if given.new is None else {})
    return found


def _own(kinds: Mapping[str, type[Any]]) -> Definitions:
    if not kinds:
        raise SourceError("this program has no kinds of its own: also give NEW")
    return {name: custom_resource_definition(kind) for name, kind in kinds.items()}


def _of_cluster(given: argparse.Namespace, names: Iterable[str]) -> Definitions:
    return of_cluster(load_config(kubeconfig=given.kubeconfig, context=given.context), names)


def _changes(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Finding]:
    try:
        return definition_changes(old, new)
    except NotADefinitionError as error:
        raise SourceError(f"{name} is not a definition of apiextensions.k8s.io/v1: {error}") from error


def _listed(definitions: Iterable[str]) -> str:
    return ", ".join(sorted(definitions)) or "none"


def _add_stored(
    found: dict[str, list[Finding]],
    new: Definitions,
    given: argparse.Namespace,
    kinds: Mapping[str, type[Any]],
) -> None:
    from handloop.client.resource_client import codec_of  # noqa: PLC0415 - only where objects are read
    from handloop.controller.cli.stored_objects import judge  # noqa: PLC0415

    config = load_config(kubeconfig=given.on, context=given.context)
    for name, installed in of_cluster(config, [each for each in found if each in new]).items():
        reads = codec_of(kinds[name]).decode if name in kinds else None
        found[name] += judge(config, installed, new[name], reads, _progress(name))


def _progress(name: str) -> Callable[[int], None]:
    def tell(seen: int) -> None:
        show(f"{name}: {seen} objects read\n", sys.stderr)

    return tell


def _document(found: Mapping[str, Sequence[Finding]]) -> str:
    """Return a JSON list. If there are several definitions, each message starts with its name."""
    many = len(found) > 1
    items = [
        (replace(each, message=f"{name}: {each.message}") if many else each).document()
        for name, findings in found.items()
        for each in findings
    ]
    return json.dumps(items, indent=2) + "\n"


def _text(found: Mapping[str, Sequence[Finding]]) -> str:
    lines = []
    for name, findings in found.items():
        lines.append(name)
        told = [each for each in findings if each.rule != _WORDS]
        lines += [f"  {_line(each)}" for each in told]
        if words := len(findings) - len(told):
            lines.append(f"  {words} descriptions changed")
        if not findings:
            lines.append("  no change")
    counts = Counter(each.severity for findings in found.values() for each in findings)
    lines.append(f"{counts['breaks']} break something, {counts['warns']} warn")
    return "\n".join(map(printable, lines)) + "\n"


def _line(finding: Finding) -> str:
    where = " ".join(filter(None, (finding.version, finding.path)))
    return f"{finding.severity:6} {where or '-':30} {finding.rule}: {finding.message}"
