from __future__ import annotations

import json
from base64 import b64decode, urlsafe_b64encode
from urllib.parse import quote

import pytest

from support.builders.widgets import Widgets
from support.servers.api_server import APIServer

_BAD_VERSION = (
    'invalid resource version: resourceVersion: Invalid value: "abc": '
    'strconv.ParseUint: parsing "abc": invalid syntax'
)
_BARE_MATCH = (
    'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: '
    "resourceVersionMatch is forbidden unless resourceVersion is provided"
)
_WATCHED_MATCH = (
    'ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is '
    "forbidden for watch unless sendInitialEvents is provided, resourceVersionMatch: Unsupported value: "
    '"Exact": supported values: "NotOlderThan"]'
)


@pytest.fixture
def five(widgets: Widgets) -> Widgets:
    """Five widgets, odd ones green."""
    for number in range(5):
        labels = {"set": "five", "odd": str(number % 2)}
        color = ("red", "green")[number % 2]
        widgets.create(f"w{number}", metadata={"labels": labels}, color=color)
    return widgets


def test_a_list_has_kind_version_and_order(five: Widgets) -> None:
    """A list has its kind and version, and is sorted by name."""
    listed = five.server.get(five.path)
    assert (listed.body["kind"], listed.body["apiVersion"]) == ("WidgetList", five.api_version)
    assert listed.names == ["w0", "w1", "w2", "w3", "w4"]
    assert int(listed.rv) >= int(listed.body["items"][-1]["metadata"]["resourceVersion"])


def test_an_unknown_namespace_lists_empty(widgets: Widgets) -> None:
    """Listing where there is no namespace is an empty list, not 404."""
    listed = widgets.server.get(widgets.path.replace(widgets.namespace, "nowhere-at-all"))
    assert (listed.status, listed.names) == (200, [])


def test_pages_are_one_snapshot(five: Widgets) -> None:
    """The pages of a limited list are of one version, even when objects change between them."""
    first = five.server.get(f"{five.path}?limit=2")
    assert first.names == ["w0", "w1"]
    assert first.body["metadata"]["remainingItemCount"] == 3
    five.create("w1b")
    five.server.delete(f"{five.path}/w3")
    token = first.body["metadata"]["continue"]
    second = five.server.get(f"{five.path}?limit=2&continue={quote(token)}")
    assert (second.names, second.rv) == (["w2", "w3"], first.rv)
    token = second.body["metadata"]["continue"]
    third = five.server.get(f"{five.path}?limit=2&continue={quote(token)}")
    assert (third.names, third.body["metadata"].get("continue")) == (["w4"], "")


def test_a_selective_page_counts_nothing(five: Widgets) -> None:
    """With a selector there is a continue token but no remainingItemCount."""
    page = five.server.get(f"{five.path}?limit=1&labelSelector=odd%3D0")
    assert page.names == ["w0"]
    assert page.body["metadata"]["continue"]
    assert "remainingItemCount" not in page.body["metadata"]


def test_a_full_page_goes_on_while_objects_follow(five: Widgets) -> None:
    """A page of the last chosen objects has a token when others follow; the next page is empty."""
    page = five.server.get(f"{five.path}?limit=2&labelSelector=odd%3D1")
    assert page.names == ["w1", "w3"]
    token = quote(page.body["metadata"]["continue"])
    last = five.server.get(f"{five.path}?limit=2&labelSelector=odd%3D1&continue={token}")
    assert (last.names, last.body["metadata"].get("continue")) == ([], "")
    whole = five.server.get(f"{five.path}?limit=3&labelSelector=odd%3D0")
    assert (whole.names, whole.body["metadata"].get("continue")) == (["w0", "w2", "w4"], "")


def test_a_page_of_the_newest_version_has_what_came_in_between(five: Widgets) -> None:
    """A list that continues at the newest version shows new objects from the last page's end on."""
    page = five.server.get(f"{five.path}?limit=2")
    token = json.loads(b64decode(page.body["metadata"]["continue"] + "==", altchars=b"-_"))
    inconsistent = urlsafe_b64encode(json.dumps({**token, "rv": -1}).encode()).decode().rstrip("=")
    five.create("w1b")
    rest = five.server.get(f"{five.path}?limit=2&continue={inconsistent}")
    assert rest.names == ["w1b", "w2"]


def test_an_exact_version_shows_the_past(five: Widgets) -> None:
    """resourceVersionMatch=Exact lists the state of that version; a bare version is a lower bound."""
    then = five.server.get(five.path).rv
    five.server.delete(f"{five.path}/w0")
    exact = five.server.get(f"{five.path}?resourceVersion={then}&resourceVersionMatch=Exact")
    assert exact.names == ["w0", "w1", "w2", "w3", "w4"]
    assert exact.rv == then
    # it may be answered from a cache, which learns of the deletion a moment later
    bound = f"{five.path}?resourceVersion={then}"
    five.server.eventually(bound, lambda answer: answer.names == ["w1", "w2", "w3", "w4"])


def test_version_zero_is_unlimited(five: Widgets) -> None:
    """resourceVersion=0 is served whole from the cache: the limit is ignored."""
    five.server.eventually(f"{five.path}?resourceVersion=0&limit=2", lambda answer: len(answer.names) == 5)


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("limit=abc", 400, 'strconv.ParseInt: parsing "abc": invalid syntax'),
        ("limit=", 400, 'strconv.ParseInt: parsing "": invalid syntax'),
        ("watch=1&timeoutSeconds=", 400, 'strconv.ParseInt: parsing "": invalid syntax'),
        ("watch=1&resourceVersion=1&resourceVersionMatch=Exact", 422, _WATCHED_MATCH),
        ("resourceVersion=abc", 400, _BAD_VERSION),
        ("resourceVersionMatch=Exact", 422, _BARE_MATCH),
        ("labelSelector=a%3Db%3Dc", 400, "found '=', expected: ',' or 'end of string'"),
        ("labelSelector=odd%20in%201", 400, "unable to parse requirement: found '1' expected: '('"),
        ("fieldSelector=nonsense", 400, "invalid selector: 'nonsense'; can't understand 'nonsense'"),
        ("fieldSelector=spec.size%3D1", 400, "field label not supported: spec.size"),
        ("sendInitialEvents=true&resourceVersion=1&resourceVersionMatch=NotOlderThan", 422, None),
    ],
)
def test_wrong_list_options(widgets: Widgets, query: str, status: int, message: str | None) -> None:
    """Options that do not parse or contradict each other are refused in the server's words."""
    answer = widgets.server.get(f"{widgets.path}?{query}")
    assert answer.status == status
    if message is not None:
        assert answer.message == message


def test_a_version_of_the_future_times_out(widgets: Widgets) -> None:
    """A list from a version that does not exist yet is 504 with a cause and a hint when to retry."""
    answer = widgets.server.get(f"{widgets.path}?resourceVersion=99999999999")
    assert (answer.status, answer.body["reason"]) == (504, "Timeout")
    assert answer.message.startswith("Timeout: Too large resource version: 99999999999, current: ")
    assert answer.causes == [("ResourceVersionTooLarge", "", "Too large resource version")]
    assert answer.body["details"]["retryAfterSeconds"] == 1


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("odd=1", ["w1", "w3"]),
        ("odd!=1", ["w0", "w2", "w4"]),
        ("odd in (0,2)", ["w0", "w2", "w4"]),
        ("odd notin (0)", ["w1", "w3"]),
        ("odd,set", ["w0", "w1", "w2", "w3", "w4"]),
        ("!odd", []),
        ("odd>0", ["w1", "w3"]),
    ],
)
def test_label_selectors(five: Widgets, selector: str, names: list[str]) -> None:
    """Every form of label selector selects as defined."""
    assert five.server.get(f"{five.path}?labelSelector={quote(selector, safe='')}").names == names


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("metadata.name=w1", ["w1"]),
        ("metadata.name!=w1", ["w0", "w2", "w3", "w4"]),
        ("spec.color=green", ["w1", "w3"]),
        ("spec.color=green,metadata.name=w3", ["w3"]),
        ("metadata.namespace=elsewhere", []),
    ],
)
def test_field_selectors(five: Widgets, selector: str, names: list[str]) -> None:
    """Names, namespaces and the definition's selectable fields can be selected by."""
    assert five.server.get(f"{five.path}?fieldSelector={quote(selector, safe='')}").names == names


@pytest.mark.parametrize("path", ["/api/v1/secrets", "widgets"])
def test_namespaces_can_be_left_out(server: APIServer, five: Widgets, path: str) -> None:
    """Lists and watches of all namespaces leave out those that a field selector excludes."""
    if path == "widgets":
        path = f"/apis/{five.group}/v1/widgets"
    else:
        server.create(f"/api/v1/namespaces/{five.namespace}/secrets", {"metadata": {"name": "s"}})
    others = f"{path}?fieldSelector=metadata.namespace!%3D{five.namespace},metadata.namespace!%3Dx"
    listed = server.get(others)
    assert five.namespace not in {item["metadata"]["namespace"] for item in listed.body["items"]}
    bookmarked = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    for query, present in ((others, False), (f"{path}?", True)):
        with server.watch(f"{query}&{bookmarked}") as watch:
            seen, _ = watch.streamed_list()
        found = {event["object"]["metadata"]["namespace"] for event in seen}
        assert (five.namespace in found) is present


def test_a_table_has_the_definitions_columns(five: Widgets) -> None:
    """as=Table answers columns, cells and, by default, each row's metadata."""
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    table = five.server.get(f"{five.path}?limit=1", accept=accept).body
    assert table["kind"] == "Table"
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size", "Phase"]
    assert [column["priority"] for column in table["columnDefinitions"]] == [0, 0, 1]
    row = table["rows"][0]
    assert row["cells"] == ["w0", 3, None]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    bare = five.server.get(f"{five.path}?limit=1&includeObject=None", accept=accept).body
    assert bare["rows"][0].get("object") is None


def test_metadata_alone(five: Widgets) -> None:
    """as=PartialObjectMetadataList answers metadata only."""
    accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    listed = five.server.get(five.path, accept=accept).body
    assert listed["kind"] == "PartialObjectMetadataList"
    assert set(listed["items"][0]) == {"kind", "apiVersion", "metadata"}


def test_lists_across_namespaces(server: APIServer, five: Widgets) -> None:
    """The cluster-wide path lists every namespace's objects."""
    path = f"/apis/{five.group}/v1/widgets?fieldSelector=metadata.namespace%3D{five.namespace}"
    assert server.get(path).names == ["w0", "w1", "w2", "w3", "w4"]


def test_items_of_built_in_lists_are_bare(server: APIServer, namespace: str) -> None:
    """Items of a built-in list come without kind and apiVersion, those of custom resources with them."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    server.create(path, {"metadata": {"name": "c"}})
    item = next(entry for entry in server.get(path).body["items"] if entry["metadata"]["name"] == "c")
    assert "kind" not in item
    assert "apiVersion" not in item
