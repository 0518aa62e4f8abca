"""
The sandbox's command-line program, and the names that handloop's command line uses.

handloop does not import the sandbox's package. It loads this module through the entry point `sandbox`.
"""

from __future__ import annotations

import argparse
import signal
import ssl
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
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
_COMPARE: Final = "To compare its answers about your files with another server's, see `compare --help`."
_ANSWER_SECONDS: Final = 2.0
"""How long to wait for an answer from a server on this machine."""


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run a sandbox until SIGINT or SIGTERM; with `compare` as the first argument, run the comparison instead.

    Args: arguments are the command-line arguments; None means those of the process.
    Returns: the exit code. Raises: SystemExit after --help and for invalid arguments.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["compare"]:
        return compare.main(words[1:])
    given = parser().parse_args(words)
    path = Path(given.kubeconfig)
    if _leads_to_a_server(path):
        return _failed(f"{path} points to a running server: stop it, or choose another --kubeconfig")
    # Not an Event: a handler runs in this thread, which may hold the Event's lock, and would wait for itself.
    # A SimpleQueue may be used anywhere.
    stop = SimpleQueue[int]()
    before = {
        each: signal.signal(each, lambda number, _: stop.put(number))
        for each in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        _serve(given, path, stop)
    except (OSError, ValueError, NoCertificateError) as error:
        return _failed(str(error))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0


def _serve(given: argparse.Namespace, path: Path, stop: SimpleQueue[int]) -> None:
    """Run a sandbox until stop has an item. During that time, its kubeconfig is at path."""
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
            stop.get()
        finally:
            sandbox.remove_kubeconfig(path)


def _next_steps(path: Path, *, bare: bool) -> str:
    """Return the text about what to type in another terminal."""
    suites = (
        "  export USE_EXISTING_CLUSTER=true   (for suites that are written for envtest)\n" if bare else ""
    )
    return f"sandbox ready; in another terminal:\n  export KUBECONFIG={path.resolve()}\n{suites}"


def _failed(message: str) -> int:
    _say(f"error: {message}\n")
    return 1


def _say(text: str) -> None:
    # A supervisor may start the process without stderr, or close stderr later.
    with suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _leads_to_a_server(path: Path) -> bool:
    """Return whether a running server uses the kubeconfig. If so, it must not be overwritten."""
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
    add("--bare", action="store_true", help="run no controllers, as in envtest: nothing changes by itself")
    add("--kubeconfig", default=".sandbox/kubeconfig", metavar="PATH", help="the kubeconfig file to write")
    add("--port", type=int, default=0, metavar="N", help="port to listen on; 0 picks a free one")
    add(
        "--address",
        default="127.0.0.1",
        metavar="IP",
        help="address to listen on; unless it is loopback, other machines can connect",
    )
    add("--speed", type=float, default=1.0, metavar="X", help="run pods this many times faster than normal")
    add(
        "--tls", action="store_true", help="serve over TLS, with a new certificate that the kubeconfig trusts"
    )
    gate = "--sharded-list-and-watch"
    add(gate, action="store_true", help="turn on the feature gate ShardedListAndWatch (shardSelector)")
    return parser
