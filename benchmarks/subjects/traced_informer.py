"""
handloop's informer, as in handloop_informer.py: the tests of the trace compiled away, as they are, or on.

Modes: `without` compiles each `if TRACE.on` away; `unseen` is the program as it is; `seen` serves the stream
of the live page to one viewer, which is a process of its own.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

VIEWER = """
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1]) as stream:
    print(stream.readline(), flush=True)
    while stream.read1(65536):
        pass
"""


class _Untraced(ast.NodeTransformer):
    def visit_If(self, node: ast.If) -> ast.AST | None:
        """Drop the statement if it asks for a trace."""
        self.generic_visit(node)
        return None if "TRACE.on" in ast.unparse(node.test) else node


def compile_the_trace_away() -> None:
    """From the next import on. A loaded module stays as it is."""

    def source_to_code(_self: SourceFileLoader, data: Any, path: Any, **_options: Any) -> Any:
        tree = ast.parse(data, path)
        if b"TRACE.on" in bytes(data):
            tree = ast.fix_missing_locations(_Untraced().visit(tree))
        return compile(tree, path, "exec", dont_inherit=True)

    sys.dont_write_bytecode = True
    SourceFileLoader.get_code = _get_code  # type: ignore[method-assign,assignment]
    SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign,assignment]


def _get_code(loader: SourceFileLoader, fullname: str) -> Any:
    """Always from the source: byte code that was kept has the tests in it."""
    path = loader.get_filename(fullname)
    return loader.source_to_code(loader.get_data(path), path)


def serve_a_viewer() -> None:
    """
    Serve the live page, and have it looked at.

    Blocks: until the viewer has its first line.
    """
    from handloop.walkthrough.live.guard import LOOPBACK_NAMES  # noqa: PLC0415 - not in the other modes
    from handloop.walkthrough.live.server import LiveServer  # noqa: PLC0415 - the same

    server = LiveServer("127.0.0.1", 0, names=LOOPBACK_NAMES, controls=False)
    server.start()
    url = f"http://127.0.0.1:{server.port}/debug/live/events"
    viewer = subprocess.Popen([sys.executable, "-c", VIEWER, url], stdout=subprocess.PIPE)
    assert viewer.stdout is not None
    viewer.stdout.readline()


if __name__ == "__main__":
    mode = sys.argv.pop(1)
    if mode == "without":
        compile_the_trace_away()
    elif mode == "seen":
        serve_a_viewer()
    from handloop_informer import main

    from handloop.workqueue.queue import Queue

    assert ("TRACE" in Queue.get.__code__.co_names) is (mode != "without")
    main()
