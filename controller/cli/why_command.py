"""`why`: asks the process that works on an object why something happens to it, or does not happen."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Final

import msgspec

from handloop.client.config import ClientConfig, load_config
from handloop.client.errors import ClientError, ConfigError, TransportError
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.flags import COMMANDS
from handloop.controller.cli.operator import Operator
from handloop.controller.cli.problems import EXIT_FATAL, EXIT_OK, EXIT_USAGE
from handloop.controller.cli.terminal import printable, show
from handloop.controller.cli.why_source import ClusterSource, Question, SourceFailedError, ask_process
from handloop.controller.runtime.reconciling.explainer import Why
from handloop.controller.runtime.reconciling.why_page import lines


def run_why(operator: Operator, arguments: Sequence[str]) -> int:
    """
    Print the process's answer.

    Returns: the exit code, which is 1 if nothing is known about the object. Raises: SystemExit from argparse.
    """
    given = _parser(operator).parse_args(arguments)
    *controller, name = given.words
    if len(controller) > 1:
        return _failed("one object at a time: [CONTROLLER] NAMESPACE/NAME")
    question = Question(name, "".join(controller))
    try:
        why = _ask(given, question)
    except SourceFailedError as error:
        return _failed(str(error), error.fix)
    except (ConfigError, ClientError) as error:
        return _failed(str(error))
    if given.output == "json":
        show(f"{msgspec.json.format(msgspec.json.encode(why)).decode()}\n", sys.stdout)
    else:
        show("".join(f"{printable(line)}\n" for line in lines(why)), sys.stdout)
    return EXIT_OK if any(each.known for each in why.explanations) else EXIT_FATAL


_METRICS_FIX: Final = 'the program\'s line "Starting ..." has the address: metrics="127.0.0.1:8080"'


def _ask(given: argparse.Namespace, question: Question) -> Why:
    if given.address:
        host = given.address if "://" in given.address else f"http://{given.address}"
        with closing(HTTPTransport(ClientConfig(host=host))) as transport:
            try:
                return ask_process(transport, question)
            except TransportError as error:
                raise SourceFailedError(str(error), _METRICS_FIX) from error
    config = load_config(kubeconfig=given.kubeconfig, context=given.context)
    with closing(HTTPTransport(config)) as transport:
        return ClusterSource(transport, given.namespace, given.name).ask(question)


def _failed(text: str, fix: str = "") -> int:
    told = f"error: {printable(text)}\n"
    told += "".join(f"  fix: {line}\n" if not n else f"  {line}\n" for n, line in enumerate(fix.splitlines()))
    show(told, sys.stderr)
    return EXIT_USAGE


def _parser(operator: Operator) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{operator.command} why",
        description=f"{COMMANDS['why'].capitalize()}. The process answers, newest decisions first.",
        allow_abbrev=False,
    )
    told = "[CONTROLLER] NAMESPACE/NAME; only NAME for objects without a namespace"
    parser.add_argument("words", metavar="NAME", nargs="+", help=told)
    parser.add_argument(
        "--address", metavar="HOST:PORT", help="a process's metrics address; 127.0.0.1:8080 on this machine"
    )
    where = f"{operator.name}-system"
    told = f"the program's namespace, not the object's ({where})"
    parser.add_argument("-n", "--namespace", default=where, help=told)
    parser.add_argument("--name", default=operator.name, help="the prefix of the program's Lease names")
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="json in place of text"
    )
    parser.add_argument("--kubeconfig", metavar="PATH", help="by default as for kubectl")
    parser.add_argument("--context", help="of the kubeconfig")
    return parser
