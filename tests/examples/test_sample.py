"""examples/sample: a line for each change of a text, and no load on the server."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any, Final

import pytest

from examples.sample.controller import set_up
from examples.sample.types import Sample
from handloop.client.errors import Invalid
from handloop.client.resource_client import Client
from handloop.testing.request_trace import RequestTrace
from support.checks.output import Printed
from support.checks.threads import Background
from support.rigs.example_cluster import ExampleCluster

KINDS: Final = (Sample,)
README: Final = Path(__file__).parents[2] / "examples" / "sample" / "README.md"
POLLS: Final = 3


def test_a_life(cluster: ExampleCluster, printed: Printed) -> None:
    """A line for each new text, none for a label or a resync, with any fault of the watch."""
    name = f"{cluster.namespace}/one"

    def wait_for(line: str) -> None:
        cluster.eventually(lambda: line in printed.lines(), line)

    cluster.create(Sample.named("one", test_string="a"))
    with cluster.operator(set_up):
        wait_for(f"{name}: a")
        cluster.patch(Sample, "one", metadata={"labels": {"no": "news"}})
        cluster.patch(Sample, "one", testString=None)
        wait_for(f"{name}: a -> hello")
        with pytest.raises(Invalid):
            cluster.patch(Sample, "one", testString="x" * 101)
        cluster.watches.hold("samples")
        cluster.patch(Sample, "one", testString="b")
        cluster.watches.drop()
        cluster.watches.hold()
        wait_for(f"{name}: hello -> b")
        cluster.watches.hold("samples")
        cluster.delete(Sample, "one")
        cluster.watches.drop()
        cluster.watches.hold()
        wait_for(f"{name} is gone")
    lines = [f"{name}: a", f"{name}: a -> hello", f"{name}: hello -> b", f"{name} is gone"]
    assert printed.lines() == lines


class Hasty(threading.Event):
    """An event whose seconds are short."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for a hundredth of that time."""
        return super().wait(None if timeout is None else timeout / 100)


def test_polling_asks_for_ever_and_the_printer_does_not(sandbox: ExampleCluster, printed: Printed) -> None:
    """The page's way of the tutorial lists once a second; meanwhile the printer asks for nothing."""
    assert sandbox.sandbox is not None
    polls = RequestTrace(sandbox.sandbox.engine, sandbox.sandbox.token, user_agent="polling")
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)  # noqa: S102 - the page's code is the subject
    sandbox.create(Sample.named("one", test_string="a"))
    stop = Hasty()
    with sandbox.operator(set_up, read_seconds=60):
        sandbox.eventually(lambda: printed.lines() == ["default/one: a"], "printed")
        assert sandbox.asked("list", "samples") + sandbox.asked("watch", "samples") <= 2
        before = sandbox.asked_in_all()
        client = Client(sandbox.watches, user_agent="polling", stop=stop)
        polling = Background(lambda: names["poll"](client, stop))
        try:
            sandbox.eventually(lambda: len(polls.asked()) >= POLLS, "polled")
            assert sandbox.asked_in_all() == before
        finally:
            stop.set()
            polling.result()
    assert {each.verb for each in polls.asked()} == {"list"}
    assert printed.lines() == ["default/one: a"] * (1 + len(polls.asked()))
