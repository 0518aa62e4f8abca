"""
The sandbox as a separate program, and the parts of it that handloop's command line uses.

handloop imports nothing from the sandbox, but finds this module through the entry point `sandbox`.
"""

from __future__ import annotations

import argparse
import signal
import ssl
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

import yaml

from handloop_sandbox import compare
from handloop_sandbox.certificate import NoCertificateError
from handloop_sandbox.differences import bullets
from handloop_sandbox.server import Sandbox

__all__ = ("LIMITS", "NoCertificateError", "Sandbox", "bullets", "main")

LIMITS: Final = """\
The sandbox keeps everything in memory and runs no containers: pods are simulated.
"""
_COMPARE: Final = "`compare --help` tells how to compare its answers about your files with another server's."
_ANSWER_SECONDS: Final = 2.0
"""The time within which a server on this machine must answer."""


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Serve until SIGINT or SIGTERM or, if the first argument is `compare`, compare the sandbox with another
    server.

    Args: arguments: None means those of the process.
    Returns: the exit code. Raises: argparse's SystemExit after help or a message about bad arguments.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["compare"]:
        return compare.main(words[1:])
    given = parser().parse_args(words)
    path = Path(given.kubeconfig)
    if _leads_to_a_server(path):
        return _failed(f"{path} points to a running server: stop it, or choose another --kubeconfig")
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        _serve(given, path, stop)
    except (OSError, ValueError, NoCertificateError) as error:
        return _failed(str(error))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0


def _serve(given: argparse.Namespace, path: Path, stop: threading.Event) -> None:
    """Serve until stop is set. A kubeconfig exists at path during that time."""
    with Sandbox(
        port=given.port,
        speed=given.speed,
        address=given.address,
        tls=given.tls,
        controllers=() if given.bare else None,
        sharded_list_and_watch=given.sharded_list_and_watch,
    ) as sandbox:
        sandbox.write_kubeconfig(path)
        try:
            _say(f"{LIMITS}{_next_steps(path, bare=given.bare)}")
            stop.wait()
        finally:
            sandbox.remove_kubeconfig(path)


def _next_steps(path: Path, *, bare: bool) -> str:
    """Return the text that tells what to type next."""
    suites = (
        "  export USE_EXISTING_CLUSTER=true   (for suites that are written for envtest)\n" if bare else ""
    )
    return f"sandbox ready; in another terminal:\n  export KUBECONFIG={path.resolve()}\n{suites}"


def _failed(message: str) -> int:
    _say(f"error: {message}\n")
    return 1


def _say(text: str) -> None:
    # A supervisor may start the process without stderr, or may close stderr later.
    with suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _leads_to_a_server(path: Path) -> bool:
    """Return whether another server answers at the kubeconfig's address, in which case the file must stay."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        url = document["clusters"][0]["cluster"]["server"]
        token = document["users"][0]["user"].get("token", "")
        trusting = ssl._create_unverified_context()  # noqa: S323, SLF001 - sends only the server's own secret
        opener = build_opener(ProxyHandler({}), HTTPSHandler(context=trusting))
        request = Request(f"{url}/version", headers={"Authorization": f"Bearer {token}"})  # noqa: S310
        with opener.open(request, timeout=_ANSWER_SECONDS):
            return True
    except (OSError, ValueError, LookupError, TypeError, AttributeError, yaml.YAMLError):
        return False


def parser() -> argparse.ArgumentParser:
    """Return the parser of the program's flags."""
    parser = argparse.ArgumentParser(
        prog="python -m handloop_sandbox",
        description=f"An in-memory Kubernetes API server. {LIMITS}{_COMPARE}",
        epilog=f"where it differs from a kube-apiserver with its controllers:\n{bullets('  ', 100)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--bare", action="store_true", help="no controllers, as in envtest: nothing changes by itself")
    add("--kubeconfig", default=".sandbox/kubeconfig", metavar="PATH", help="where its kubeconfig is written")
    add("--port", type=int, default=0, metavar="N", help="0 picks a free one")
    add("--address", default="127.0.0.1", metavar="IP", help="any but loopback opens it to the network")
    add("--speed", type=float, default=1.0, metavar="X", help="how many times faster than nominal pods are")
    add("--tls", action="store_true", help="serve over TLS, with a certificate of its own in the kubeconfig")
    gate = "--sharded-list-and-watch"
    add(gate, action="store_true", help="obey shardSelector, as behind the gate ShardedListAndWatch")
    return parser
