"""learn/docs/walkthrough.md, step (1): the failures when a part of the reflector is missing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.client.decoding.watch_stream import WatchEvent, WatchStream
from handloop.client.errors import DecodeError
from handloop.client.resource_client import codec_of
from handloop.informers import reflector
from handloop.informers.reflector import Reflector
from handloop.informers.relist_policy import RelistPolicy
from support.builders.deployments import deployment
from support.doubles.fake_lister_watcher import FakeSource, expired
from support.doubles.scripted_transport import ScriptedStream
from support.rigs.informer_rig import InformerRig


def watching(*objects: Deployment) -> tuple[FakeSource, InformerRig]:
    source = FakeSource(*objects)
    return source, InformerRig(source)


def pass_pauses(rig: InformerRig, holds: Callable[[], bool]) -> None:
    """Let time pass whenever the reflector waits for it, until something holds."""

    def step() -> bool:
        if rig._pauses():
            rig.clock.advance(60)
        return holds()

    rig.until(step)


LINE = (
    b'{"type":"ADDED","object":{"apiVersion":"apps/v1","kind":"Deployment",'
    b'"metadata":{"name":"a","namespace":"default","resourceVersion":"2"}}}\n'
)


class WithoutRest(WatchStream[Deployment]):
    def _take(self, block: bytes) -> list[WatchEvent[Deployment]]:
        return super()._take(block.removesuffix(b"\n") + b"\n")


def test_without_the_rest_of_a_line_an_event_in_two_blocks_is_lost() -> None:
    """A block ends anywhere: what it has of the next event is kept, or is garbage."""
    codec = codec_of(Deployment)
    blocks = [LINE[:50], LINE[50:]]
    (event,) = WatchStream(ScriptedStream(blocks), codec.events()).read()
    assert event.object == deployment("a", 2)
    with pytest.raises(DecodeError):
        WithoutRest(ScriptedStream(blocks), codec.events()).read()


def test_without_a_list_after_410_the_cache_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reflector that asks again for a version that the server has forgotten never sees a deletion."""
    source, rig = watching(deployment("stays"), deployment("goes"))
    monkeypatch.setattr(reflector, "may_open_again", lambda _error: True)
    monkeypatch.setattr(RelistPolicy, "why_relist", lambda *_args, **_options: None)
    with closing(rig):
        rig.run_watching()
        with source.unseen():
            source.delete("goes")
        source.drop_watches(expired())
        pass_pauses(rig, lambda: len(source.watch_options) > 20)
        assert sorted(rig.informer.indexer.list_keys()) == ["default/goes", "default/stays"]
        monkeypatch.undo()
        pass_pauses(rig, lambda: rig.informer.indexer.list_keys() == ["default/stays"])


def test_without_the_last_version_a_new_watch_brings_the_past(
    monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    """If the version stays that of the list, each cut sends the cache back to an older state."""
    source, rig = watching(deployment("a"))
    if not whole:
        monkeypatch.setattr(Reflector, "_set_last_rv", stays_at_the_first(Reflector._set_last_rv))
    handler, _ = rig.handle()
    with closing(rig):
        rig.run_watching()
        source.modify(deployment("a"))
        source.modify(deployment("a"))
        handler.wait_for("update a 2 3")
        source.drop_watches()
        pass_pauses(rig, lambda: len(source.watch_options) == 2)
        rig.until_watching()
        source.add(deployment("last"))
        lines = handler.wait_for(lambda seen: any("add last" in line for line in seen))
        assert ("update a 3 2" in lines) is not whole


def stays_at_the_first(
    set_last_rv: Callable[[Reflector[Deployment], str], None],
) -> Callable[[Reflector[Deployment], str], None]:
    """The method, without effect after the first call."""

    def once(self: Reflector[Deployment], rv: str) -> None:
        if not self.last_sync_resource_version():
            set_last_rv(self, rv)

    return once
