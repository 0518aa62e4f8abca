"""
`python -m handloop_sandbox compare FOLDER --with KUBECONFIG`: shows where the sandbox's answers differ.

Sends a folder's objects to a sandbox and to another server, one request after another, and compares the
answers. Namespaced objects are created in a separate namespace. At the end, all created objects are deleted.
"""

from __future__ import annotations

import argparse
import http.client
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from handloop_sandbox.comparison import noise
from handloop_sandbox.comparison.endpoint import Answer, Body, Endpoint, KubeconfigError
from handloop_sandbox.comparison.requests import Ask, Paths, is_definition, life_of, objects_in
from handloop_sandbox.server import Sandbox
from handloop_sandbox.wire.patch_types import MERGE

_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_NAMESPACES: Final = "/api/v1/namespaces"
_SERVED_SECONDS: Final = 30.0
_PAUSE_SECONDS: Final = 0.2
_MADE: Final = 201
_ATTEMPTS: Final = 3


def main(arguments: Sequence[str]) -> int:
    """
    Compare the servers' answers, and print the differences.

    Returns: the exit code: 0 if no answers differ, 1 if some differ, 2 if the comparison failed.
    """
    given = _parser().parse_args(arguments)
    try:
        broken: list[str] = []
        objects = list(objects_in(Path(given.folder), broken))
        with ExitStack() as stack:
            sandbox = stack.enter_context(Sandbox(controllers=() if given.bare else None))
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            own = stack.enter_context(Endpoint(sandbox.write_kubeconfig(folder / "kubeconfig")))
            other = stack.enter_context(Endpoint(Path(given.kubeconfig)))
            comparison = _Comparison(own, other, depth=given.depth, quiet=given.quiet)
            comparison.skip(broken)
            return comparison.run(objects)
    except (KubeconfigError, OSError, ValueError, http.client.HTTPException) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2


class _Comparison:
    """Sends requests to both servers, and counts the answers that differ."""

    def __init__(self, own: Endpoint, other: Endpoint, *, depth: int, quiet: bool) -> None:
        self._own, self._other, self._depth, self._quiet = own, other, depth, quiet
        self._namespace = f"compare-{uuid.uuid4().hex[:8]}"
        self._requests = self._differ = 0
        self._made: list[str] = []

    def skip(self, reasons: Iterable[str]) -> None:
        """Print why files or objects are skipped."""
        for reason in reasons:
            self._say(f"skipped: {reason}")

    def run(self, objects: list[Body]) -> int:
        """Send requests for each of the objects, and compare the answers. Returns: the exit code."""
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self._namespace}}
        try:
            self._ask(Ask("the namespace", "POST", _NAMESPACES, namespace, makes=True))
            for definition in filter(is_definition, objects):
                self._define(definition)
            paths = Paths(self._other)
            for obj in objects:
                if not is_definition(obj):
                    self._live(obj, paths)
        finally:
            for path in reversed(self._made):
                self._delete(path)
        sys.stdout.write(f"{self._requests} requests, {self._differ} answers differ\n")
        return 1 if self._differ else 0

    def _delete(self, path: str) -> None:
        """Delete a created object, and remove its finalizers in case no controller does so."""
        answer = self._other.send("DELETE", path)
        body = answer.body if isinstance(answer.body, dict) else {}
        if (body.get("metadata") or {}).get("finalizers") and not path.startswith(_DEFINITIONS):
            self._other.send("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)

    def _define(self, definition: Body) -> None:
        spec, name = definition.get("spec") or {}, definition.get("metadata", {}).get("name", "")
        made = self._ask(Ask(f"the definition {name}", "POST", _DEFINITIONS, definition, makes=True))
        for version in spec["versions"] if made else ():
            if version.get("served"):
                self._wait_for(f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}")

    def _wait_for(self, path: str) -> None:
        deadline = time.monotonic() + _SERVED_SECONDS
        for server in (self._own, self._other):
            while server.send("GET", path).status != http.client.OK and time.monotonic() < deadline:
                time.sleep(_PAUSE_SECONDS)

    def _live(self, obj: Body, paths: Paths) -> None:
        found = paths.of(obj, self._namespace)
        if found is None:
            self.skip([f"{obj['apiVersion']} {obj['kind']}: the other server does not have this kind"])
            return
        collection, subresources = found
        metadata = {key: value for key, value in obj.get("metadata", {}).items() if key != "namespace"}
        for ask in life_of({**obj, "metadata": metadata}, collection, subresources, self._depth):
            if not self._ask(ask):
                self.skip([f"the rest of {ask.what.rpartition(':')[0]}: it was not created on both servers"])
                return

    def _ask(self, ask: Ask) -> bool:
        """
        Send a request to both servers, and print how the answers differ.

        Returns: false if the request should create an object but failed on one of the servers, else true.
        After false, the object gets no more requests, so that an object that existed before is never changed.
        """
        own, other = (self._sent(server, ask) for server in (self._own, self._other))
        self._requests += 1
        if lines := noise.compared(own, other):
            self._differ += 1
            self._say(ask.what, *lines)
        if ask.makes and other.status == _MADE:
            self._made.append(f"{ask.path}/{other.body['metadata']['name']}")
        return not ask.makes or own.status == other.status == _MADE

    def _sent(self, server: Endpoint, ask: Ask) -> Answer:
        """Send a request. If a PUT conflicts with a controller's write, retry it with the current object."""
        for attempt in range(_ATTEMPTS):
            body = server.send("GET", ask.path).body if ask.puts_back else ask.body
            answer = server.send(ask.method, ask.path, body, ask.content_type, ask.accept)
            if not ask.puts_back or answer.status != http.client.CONFLICT or attempt + 1 == _ATTEMPTS:
                return answer
        raise AssertionError

    def _say(self, *lines: str) -> None:
        """Print lines. Terminal control characters from files and servers are escaped."""
        if not self._quiet:
            sys.stdout.write("\n  ".join(map(_printable, lines)) + "\n")


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m handloop_sandbox compare",
        description="Send a folder's objects to a sandbox and to another server, and print the differences.",
        epilog="On the other server, this command creates a separate namespace, and the folder's definitions "
        "and cluster-scoped objects. At the end, it deletes them. Existing objects stay unchanged.",
        allow_abbrev=False,
    )
    parser.add_argument("folder", metavar="FOLDER", help="a folder with YAML or JSON files, or one file")
    parser.add_argument(
        "--with", dest="kubeconfig", metavar="KUBECONFIG", required=True, help="the other server"
    )
    parser.add_argument("--bare", action="store_true", help="use a sandbox without controllers, like envtest")
    parser.add_argument(
        "--depth", type=int, default=1, help="how many levels of nested objects to make mistakes in (1)"
    )
    parser.add_argument("--quiet", action="store_true", help="print only the totals")
    return parser
