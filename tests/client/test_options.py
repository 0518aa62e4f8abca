from __future__ import annotations

from handloop.client.options import ListOptions


def test_defaults_send_nothing() -> None:
    """A list without options has no query."""
    assert ListOptions().query() == {}


def test_every_option_has_its_parameter() -> None:
    """Each option is sent under the server's name for it."""
    options = ListOptions(
        label_selector="a=b",
        field_selector="metadata.name=x",
        resource_version="12",
        resource_version_match="NotOlderThan",
        limit=500,
        continue_token="t",
        allow_watch_bookmarks=True,
        send_initial_events=True,
        timeout_seconds=300,
        shard_selector="shardRange(object.metadata.uid, '0x0', '0x8')",
    )
    assert options.query(watch=True) == {
        "labelSelector": "a=b",
        "fieldSelector": "metadata.name=x",
        "resourceVersion": "12",
        "resourceVersionMatch": "NotOlderThan",
        "limit": "500",
        "continue": "t",
        "watch": "true",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "timeoutSeconds": "300",
        "shardSelector": "shardRange(object.metadata.uid, '0x0', '0x8')",
    }


def test_no_resource_version_and_an_empty_one_are_not_sent() -> None:
    """None and "" ask for the newest state; "0" asks for any."""
    assert ListOptions(resource_version=None).query() == {}
    assert ListOptions(resource_version="").query() == {}
    assert ListOptions(resource_version="0").query() == {"resourceVersion": "0"}


def test_a_zero_timeout_is_sent() -> None:
    """Only None means that the server chooses how long a watch lasts."""
    assert ListOptions(timeout_seconds=0).query() == {"timeoutSeconds": "0"}
