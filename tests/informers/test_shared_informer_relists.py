"""The memory cost of a later list: a page and the changes, not all objects a second time."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import FrozenMap
from handloop.client.decoding.pages import ListPage
from handloop.client.options import ListOptions
from support.builders.deployments import added, bookmark, deployment
from support.doubles.fake_lister_watcher import FakeSource, FakeWatch
from support.rigs.informer_rig import InformerRig

NAMES = "abcdefgh"
PAGE = 2


class Traced(Deployment, frozen=True, gc=True, weakref=True, tag="Deployment"):
    """A Deployment that can be looked for in memory: the references of all that were made are in traces."""

    def __post_init__(self) -> None:
        TRACES.append(weakref.ref(self))


TRACES: list[weakref.ref[Traced]] = []


class DecodingSource(FakeSource):
    """
    Makes objects of its own for every page and every two events, as if they had just been decoded.

    most_living = the most objects that were in memory before one more page or block was made.
    """

    most_living = 0

    def unscripted_list(self, options: ListOptions) -> ListPage[Deployment]:
        page = super().unscripted_list(options)
        return ListPage(self._decoded(page.items), page.resource_version, page.continue_token)

    def unscripted_watch(self, options: ListOptions) -> FakeWatch[Deployment]:
        if not options.send_initial_events:
            return super().unscripted_watch(options)
        watch: FakeWatch[Deployment] = FakeWatch()
        self._send_initial(watch, [obj for _, obj in sorted(self._objects.items())])
        self._open.append(watch)
        return watch

    def _send_initial(self, watch: FakeWatch[Deployment], objects: Sequence[Deployment]) -> None:
        if not objects:
            watch.send(bookmark(self.rv, ends_list=True))
            return
        watch.send(*map(added, self._decoded(objects[:PAGE])))
        watch.then(lambda: self._send_initial(watch, objects[PAGE:]))

    def _decoded(self, objects: Iterable[Deployment]) -> list[Deployment]:
        self.most_living = max(self.most_living, sum(trace() is not None for trace in TRACES))
        return [Traced(metadata=msgspec.structs.replace(obj.metadata)) for obj in objects]


def without_labels(obj: Deployment) -> Deployment:
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, labels=FrozenMap()))


@pytest.fixture
def transform() -> Callable[[Deployment], Deployment] | None:
    """That of the informer; a test may ask for another one."""
    return None


@pytest.fixture(params=[False, True], ids=["pages", "stream"])
def rig(
    request: pytest.FixtureRequest, transform: Callable[[Deployment], Deployment] | None
) -> Iterator[InformerRig]:
    """An informer over a source that decodes, and that lists in the way the test asks for."""
    TRACES.clear()
    objects = [deployment(name, labels={"app": name}) for name in NAMES]
    source = DecodingSource(*objects, supports_watch_list=request.param)
    made = InformerRig(source, page_size=PAGE, transform=transform)
    yield made
    made.close()


def stored(rig: InformerRig) -> dict[str, Deployment]:
    return {obj.metadata.name: obj for obj in rig.informer.indexer.list()}


def relist(rig: InformerRig) -> None:
    """Have everything listed once more, and wait until that is in the store."""
    source = rig.source
    assert isinstance(source, DecodingSource)
    source.compact()
    rig.expire(60)
    rig.until_watching()
    rig.until(lambda: rig.informer.has_seen(source.rv))


@pytest.mark.parametrize("transform", [None, without_labels])
def test_unchanged_objects_are_kept_as_they_are(
    rig: InformerRig, transform: Callable[[Deployment], Deployment] | None
) -> None:
    """They are the very same objects after the list; changed, new and deleted ones are found."""
    source = rig.source
    assert isinstance(source, DecodingSource)
    handler, _ = rig.handle()
    rig.run_watching()
    before = stored(rig)
    handler.wait_for(len(NAMES))
    handler.clear()
    with source.unseen():
        source.modify(deployment("c"))
        source.delete("d")
        source.add(deployment("i"))
    relist(rig)
    after = stored(rig)
    assert [name for name in after if after[name] is before.get(name)] == list("abefgh")
    assert (after["c"].metadata.resource_version, after["i"].metadata.resource_version) == ("2", "4")
    same = [f"update {name} 1 1" for name in "abefgh"]
    assert sorted(handler.wait_for(9)) == sorted(
        ["add i 4 late", "delete default/d gone", "update c 1 2", *same]
    )


def test_no_second_copy_of_unchanged_objects_is_alive(rig: InformerRig) -> None:
    """While a list arrives there are the stored objects, one page, and the changes; ten times over."""
    source = rig.source
    assert isinstance(source, DecodingSource)
    rig.run_watching()
    source.most_living = 0
    for _ in range(10):
        with source.unseen():
            source.modify(deployment("c"))
        relist(rig)
    assert source.most_living <= len(NAMES) + PAGE + 1


def test_what_changes_without_a_new_version_is_taken(rig: InformerRig) -> None:
    """As when a default or a conversion changes on the server: UID and version are those of before."""
    source = rig.source
    assert isinstance(source, DecodingSource)
    rig.run_watching()
    defaulted = msgspec.structs.replace(
        source.objects()["c"].metadata, labels=FrozenMap({"defaulted": "yes"})
    )
    source._objects["c"] = msgspec.structs.replace(source.objects()["c"], metadata=defaulted)
    relist(rig)
    assert stored(rig)["c"].metadata.labels == {"defaulted": "yes"}
