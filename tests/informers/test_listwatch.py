from __future__ import annotations

from functools import partial

import msgspec

from handloop.apis.apps_v1 import Deployment
from handloop.client.decoding.pages import ListPage
from handloop.client.options import ListOptions
from handloop.informers.listwatch import ListWatch
from support.fake_lister_watcher import FakeWatch, page


class FakeResources:
    """Implements handloop.informers.listwatch.Resources."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, ListOptions]] = []
        self.answer: FakeWatch[Deployment] = FakeWatch()

    def list(self, namespace: str = "", *, options: ListOptions) -> ListPage[Deployment]:
        self.asked.append(("list", namespace, options))
        return page(rv=7)

    def watch(self, namespace: str = "", *, options: ListOptions) -> FakeWatch[Deployment]:
        self.asked.append(("watch", namespace, options))
        return self.answer


def test_restrictions_bind_list_and_watch_alike() -> None:
    """Namespace and tweak are in the options of both calls, over the reflector's own."""
    resources = FakeResources()
    wanted = {"label_selector": "app=web", "field_selector": "metadata.name=a", "timeout_seconds": 9}
    source = ListWatch(resources, "demo", tweak=partial(msgspec.structs.replace, **wanted))
    assert source.list(ListOptions(limit=5)).resource_version == "7"
    assert source.watch(ListOptions(resource_version="7")) is resources.answer
    assert resources.asked == [
        ("list", "demo", ListOptions(limit=5, **wanted)),  # type: ignore[arg-type]
        ("watch", "demo", ListOptions(resource_version="7", **wanted)),  # type: ignore[arg-type]
    ]


def test_without_restrictions_the_options_pass_unchanged() -> None:
    """All namespaces, and exactly the options that were asked for."""
    resources = FakeResources()
    options = ListOptions(limit=5)
    ListWatch(resources).list(options)
    assert resources.asked == [("list", "", options)]


def test_streaming_lists_can_be_declared_unsupported() -> None:
    """WL-13: whoever makes the source decides whether a streaming list may be asked for."""
    assert ListWatch(FakeResources()).supports_watch_list
    assert not ListWatch(FakeResources(), supports_watch_list=False).supports_watch_list
