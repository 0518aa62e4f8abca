"""Objects of other versions than the stored one: a webhook on loopback converts them for both servers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from support.builders.sites import Sites, defined_sites
from support.servers.api_server import APPLY, JSON_PATCH, Answer, APIServer, Object
from support.servers.conversion_webhook import ConversionWebhook, Raw, converted

_DOWN = {"url": "https://127.0.0.1:9/convert"}
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@pytest.fixture
def group() -> str:
    """A group of this test alone."""
    return f"c{uuid.uuid4().hex[:8]}.conversion.example.com"


@pytest.fixture
def hook() -> Iterator[ConversionWebhook]:
    """A webhook that is up."""
    with ConversionWebhook() as hook:
        yield hook


@pytest.fixture
def sites(server: APIServer, namespace: str, group: str, hook: ConversionWebhook) -> Iterator[Sites]:
    """Sites that are stored in v1."""
    with defined_sites(server, namespace, group, hook.conversion()) as sites:
        yield sites


def _refused(hook: ConversionWebhook) -> str:
    post = f'Post "https://127.0.0.1:{hook.port}/convert?timeout=30s"'
    return f"failed: {post}: dial tcp 127.0.0.1:{hook.port}: connect: connection refused"


def _spec(answer: Answer) -> Object:
    assert answer.status in (200, 201), answer
    return dict(answer.body["spec"])


def test_each_version_shows_each_object(sites: Sites) -> None:
    """In answers, lists, rows of selectors and watches."""
    server = sites.server
    start = server.get(sites.path("v1beta1")).rv
    query = f"watch=1&timeoutSeconds=60&resourceVersion={start}"
    with (
        server.watch(f"{sites.path('v1')}?{query}") as new,
        server.watch(f"{sites.path('v1beta1')}?{query}&fieldSelector=spec.host%3Dh") as old,
    ):
        assert _spec(sites.create("v1beta1", "a", host="h", other="o")) == {
            "host": "h",
            "other": "o",
            "size": 3,
        }
        sites.create("v1", "b", hostname="i")
        assert _spec(server.get(sites.path("v1", "a"))) == {"hostname": "h", "other": "o", "size": 3}
        assert _spec(server.get(sites.path("v1beta1", "b"))) == {"host": "i", "size": 3}
        assert [item["spec"].get("host") for item in server.get(sites.path("v1beta1")).body["items"]] == [
            "h",
            "i",
        ]
        assert server.get(f"{sites.path('v1beta1')}?fieldSelector=spec.host%3Di").names == ["b"]
        assert server.get(f"{sites.path('v1')}?fieldSelector=spec.hostname%3Di").names == ["b"]
        server.patch(sites.path("v1", "a"), {"spec": {"hostname": "j"}})
        server.delete(sites.path("v1beta1", "b"))
        seen = [(event["type"], event["object"]["spec"]["hostname"]) for event in new.count(4)]
        assert seen == [("ADDED", "h"), ("ADDED", "i"), ("MODIFIED", "j"), ("DELETED", "i")]
        gone = old.count(2)
    assert [(event["type"], event["object"]["spec"]["host"]) for event in gone] == [
        ("ADDED", "h"),
        ("DELETED", "h"),
    ]


def _put(sites: Sites) -> Answer:
    path = sites.path("v1beta1", "a")
    body = sites.server.get(path).body
    return sites.server.update(path, {**body, "spec": {**body["spec"], "host": "i"}})


_WRITES: dict[str, Callable[[Sites], Answer]] = {
    "put": _put,
    "merge": lambda sites: sites.server.patch(sites.path("v1beta1", "a"), {"spec": {"host": "i"}}),
    "json": lambda sites: sites.server.patch(
        sites.path("v1beta1", "a"), [{"op": "replace", "path": "/spec/host", "value": "i"}], JSON_PATCH
    ),
    "apply": lambda sites: sites.server.patch(
        f"{sites.path('v1beta1', 'a')}?fieldManager=m&force=true", sites.new("v1beta1", "a", host="i"), APPLY
    ),
}


@pytest.mark.parametrize("write", _WRITES)
def test_writes_are_converted_to_the_stored_version(
    sites: Sites, hook: ConversionWebhook, write: str
) -> None:
    """The writer gets its own version back, and owns the field in it."""
    sites.create("v1", "a", hostname="h", other="o")
    written = _WRITES[write](sites)
    assert _spec(written) == {"host": "i", "other": "o", "size": 3}
    owners = {
        (entry["manager"], entry["apiVersion"].rpartition("/")[2]): set(entry["fieldsV1"]["f:spec"]) - {"."}
        for entry in written.body["metadata"]["managedFields"]
    }
    manager = "m" if write == "apply" else "contract"
    assert owners == {("contract", "v1"): {"f:other", "f:size"}, (manager, "v1beta1"): {"f:host"}}
    hook.reviews.clear()
    assert _spec(sites.server.get(sites.path("v1", "a"))) == {"hostname": "i", "other": "o", "size": 3}
    assert not [each for each in hook.reviews if each["request"]["desiredAPIVersion"].endswith("/v1")]


def test_subresources(sites: Sites) -> None:
    """The status and the scale in the other version."""
    server = sites.server
    sites.create("v1", "a", hostname="h", replicas=2)
    status = server.patch(sites.path("v1beta1", "a", "status"), {"status": {"phase": "Ready"}})
    assert (_spec(status)["host"], status.body["status"]) == ("h", {"phase": "Ready"})
    assert server.get(sites.path("v1beta1", "a", "scale")).body["spec"] == {"replicas": 2}
    assert server.patch(sites.path("v1beta1", "a", "scale"), {"spec": {"replicas": 4}}).status == 200
    read = server.get(sites.path("v1", "a")).body
    assert (read["spec"], read["status"]) == ({"hostname": "h", "replicas": 4, "size": 3}, {"phase": "Ready"})


def test_managers_are_asked_in_their_own_versions(sites: Sites) -> None:
    """A conflict names the field as its owner knows it, and a field that is applied no more goes."""
    server = sites.server

    def apply(manager: str, version: str, **spec: Any) -> Answer:
        body = sites.new(version, "a", **spec)
        return server.patch(f"{sites.path(version, 'a')}?fieldManager={manager}", body, APPLY)

    apply("first", "v1beta1", host="h", other="o")
    conflict = apply("second", "v1", hostname="i")
    assert conflict.message == 'Apply failed with 1 conflict: conflict with "first": .spec.host'
    assert _spec(apply("second", "v1", replicas=1)) == {
        "hostname": "h",
        "other": "o",
        "replicas": 1,
        "size": 3,
    }
    assert _spec(apply("first", "v1", hostname="h")) == {"hostname": "h", "replicas": 1, "size": 3}
    assert _spec(apply("first", "v1beta1", other="p")) == {"other": "p", "replicas": 1, "size": 3}
    managed = server.get(sites.path("v1", "a")).body["metadata"]["managedFields"]
    # in the order of their times, of which a second may pass between two
    (first, second) = sorted(managed, key=lambda entry: entry["manager"])
    assert (first["manager"], first["fieldsV1"]) == ("first", {"f:spec": {"f:other": {}}})
    assert (second["manager"], second["apiVersion"]) == ("second", f"{sites.group}/v1")


def test_only_labels_and_annotations_are_the_webhooks(sites: Sites, hook: ConversionWebhook) -> None:
    """All other metadata stays; what the schema does not know goes."""
    before = sites.create("v1", "a", metadata={"labels": {"l": "m"}}, hostname="h").body["metadata"]
    odd = {"finalizers": ["a.b/c"], "generation": 77, "ownerReferences": [], "resourceVersion": "1"}
    hook.answer = _metadata(labels={"x": "y"}, annotations={"n": "o"}, **odd)
    read = sites.server.get(sites.path("v1beta1", "a")).body["metadata"]
    assert read == {**before, "labels": {"x": "y"}, "annotations": {"n": "o"}}
    hook.answer = _objects(lambda obj: {**obj, "spec": {"more": 1, "host": None, "size": None}, "top": {}})
    read = sites.server.get(sites.path("v1beta1", "a")).body
    assert (read["spec"], "top" in read) == ({"size": None}, False)


def _objects(change: Callable[[Object], Any]) -> Callable[[Object], Object]:
    def answer(review: Object) -> Object:
        document = converted(review)
        response = document["response"]
        return {
            **document,
            "response": {**response, "convertedObjects": [*map(change, response["convertedObjects"])]},
        }

    return answer


def _metadata(**members: Any) -> Callable[[Object], Object]:
    return _objects(lambda obj: {**obj, "metadata": {**obj["metadata"], **members}})


def _with(**members: Any) -> Callable[[Object], Object]:
    return lambda review: {**converted(review), **members}


def _responding(**members: Any) -> Callable[[Object], Object]:
    return lambda review: converted(review, **members)


def _without(name: str) -> Callable[[Object], Object]:
    return _objects(lambda obj: {key: value for key, value in obj.items() if key != name})


_API = "apiextensions.k8s.io"
_KIND = "Kind=ConversionReview"
_HEAD = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
_PARSE = "failed: couldn't get version/kind; json parse error: "
_AT = "returned invalid object at index 0: "
_MUST = "returned invalid object: must have the same "
_META = "returned invalid metadata: "
_NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_WRONG: dict[str, tuple[Callable[[Object], Object | Raw], str]] = {
    "text": (
        lambda _: Raw(200, body=b"hello"),
        f"{_PARSE}json: cannot unmarshal string into Go value of type {_HEAD}",
    ),
    "list": (
        lambda _: Raw(200, body=b"[]"),
        f"{_PARSE}json: cannot unmarshal array into Go value of type {_HEAD}",
    ),
    "half": (lambda _: Raw(200, body=b'{"a":'), f"{_PARSE}unexpected end of JSON input"),
    "empty": (
        lambda _: Raw(200),
        "failed: 0-length response with status code: 200 and content type: application/json",
    ),
    "other kind": (
        _with(apiVersion="admission.k8s.io/v1", kind="AdmissionReview"),
        (
            'failed: no kind "AdmissionReview" is registered for version "admission.k8s.io/v1" in scheme '
            '"pkg/runtime/scheme.go:111"'
        ),
    ),
    "other version": (
        _with(apiVersion=f"{_API}/v1beta1"),
        "failed: converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion",
    ),
    "no version": (
        _with(apiVersion=None),
        f"failed: expected webhook response of {_API}/v1, {_KIND}, got /, {_KIND}",
    ),
    "no response": (_with(response=None), "failed: no response provided"),
    "response": (
        _with(response="x"),
        (
            "failed: json: cannot unmarshal string into Go struct field ConversionReview.response of type "
            "v1.ConversionResponse"
        ),
    ),
    "objects": (
        _responding(convertedObjects="x"),
        (
            "failed: json: cannot unmarshal string into Go struct field "
            "ConversionResponse.response.convertedObjects of type []runtime.RawExtension"
        ),
    ),
    "none": (_responding(convertedObjects=[]), "returned 0 objects, expected 1"),
    "two": (_responding(convertedObjects=[{}, {}]), "returned 2 objects, expected 1"),
    "failure": (_responding(result={"status": "Failure", "message": "it is ill"}), "failed: it is ill"),
    "silent failure": (
        _responding(result={"status": "Failure"}),
        "failed: response.result.status was 'Failure', not 'Success'",
    ),
    "no result": (_responding(result=None), "failed: response.result.status was '', not 'Success'"),
    "no apiVersion": (
        _without("apiVersion"),
        f"{_AT}invalid groupVersion (expected GROUP/v1beta1, received )",
    ),
    "apiVersion": (
        _objects(lambda obj: {**obj, "apiVersion": "g/v7"}),
        f"{_AT}invalid groupVersion (expected GROUP/v1beta1, received g/v7)",
    ),
    "kind": (
        _objects(lambda obj: {**obj, "kind": "Other"}),
        f"{_AT}invalid kind (expected Site, received Other)",
    ),
    "name": (_metadata(name="b"), f"{_MUST}name: a != b"),
    "no metadata": (_without("metadata"), f"{_MUST}name: a != "),
    "namespace": (_metadata(namespace="b"), f"{_MUST}namespace: NAMESPACE != b"),
    "labels": (
        _metadata(labels=[1]),
        f"{_META}invalid metadata.labels of type []interface {{}} in converted object",
    ),
    "a label": (
        _metadata(labels={"a": 1}),
        f"{_META}metadata.labels[a] must be a string, but is int64 in converted object",
    ),
    "an annotation": (
        _metadata(annotations={"a b": "c"}),
        f'{_META}metadata.annotation: Invalid value: "a b": {_NAME_RULE}',
    ),
    "500": (
        lambda _: Raw(500),
        'failed: an error on the server ("unknown") has prevented the request from succeeding',
    ),
    "502": (
        lambda _: Raw(502, "text/plain", b"bad\n"),
        'failed: an error on the server ("bad") has prevented the request from succeeding',
    ),
    "404": (
        lambda _: Raw(404, "text/plain", b"?"),
        "failed: the server could not find the requested resource",
    ),
    "403": (lambda _: Raw(403, "text/plain", b"go away"), "failed: go away"),
    "418": (
        lambda _: Raw(418, "text/plain", b"tea"),
        "failed: the server responded with the status code 418 but did not return more information",
    ),
    "status": (
        lambda _: Raw(400, body=b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not so"}'),
        "failed: not so",
    ),
}


@pytest.fixture(scope="module")
def shared_hook() -> Iterator[ConversionWebhook]:
    """The webhook of the sites that wrong answers are tried on."""
    with ConversionWebhook() as hook:
        yield hook


@pytest.fixture
def wrong_hook(shared_hook: ConversionWebhook) -> Iterator[ConversionWebhook]:
    """It is right again after each test: a server tries until it is."""
    yield shared_hook
    shared_hook.answer = converted


@pytest.fixture(scope="module")
def wrong_sites(server: APIServer, shared_hook: ConversionWebhook) -> Iterator[Sites]:
    """The same sites for every wrong answer."""
    group = f"c{uuid.uuid4().hex[:8]}.conversion.example.com"
    namespace = f"contract-{uuid.uuid4().hex[:10]}"
    server.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    with defined_sites(server, namespace, group, shared_hook.conversion()) as sites:
        sites.create("v1", "a", hostname="h")
        yield sites
    server.remove_namespace(namespace)


@pytest.mark.parametrize("case", _WRONG)
def test_wrong_answers(wrong_sites: Sites, wrong_hook: ConversionWebhook, case: str) -> None:
    """A webhook's answer that is not right is refused, in the server's words."""
    wrong_hook.answer, told = _WRONG[case]
    refused = wrong_sites.server.get(wrong_sites.path("v1beta1", "a"))
    told = told.replace("GROUP", wrong_sites.group).replace("NAMESPACE", wrong_sites.namespace)
    assert (refused.status, refused.message) == (500, wrong_sites.failure("v1", told))
    assert "reason" not in refused.body


def test_an_answer_to_another_question(wrong_sites: Sites, wrong_hook: ConversionWebhook) -> None:
    """Its uid tells."""
    wrong_hook.answer = _responding(uid="u")
    message = wrong_sites.server.get(wrong_sites.path("v1beta1", "a")).message
    asked = wrong_hook.reviews[-1]["request"]["uid"]
    assert message == wrong_sites.failure("v1", f'failed: expected response.uid="{asked}", got "u"')


def test_the_older_review(server: APIServer, namespace: str, group: str, hook: ConversionWebhook) -> None:
    """The first version that both understand is asked in; v1beta1 is not checked for its uid."""
    hook.answer = _responding(uid="u")
    conversion = hook.conversion(reviews=("v3", "v1beta1", "v1"))
    with defined_sites(server, namespace, group, conversion) as sites:
        assert _spec(sites.create("v1beta1", "a", host="h")) == {"host": "h", "size": 3}
    assert {review["apiVersion"] for review in hook.reviews} == {f"{_API}/v1beta1"}


def test_while_the_webhook_is_down(sites: Sites, hook: ConversionWebhook) -> None:
    """Everything that has to be converted is refused; lists and watches have what was converted before."""
    server, path = sites.server, sites.path("v1beta1", "a")
    created = sites.create("v1", "a", hostname="h", other="o")
    server.eventually(sites.path("v1beta1"), lambda answer: len(answer.body["items"]) == 1)
    hook.stop()
    assert _spec(server.get(sites.path("v1", "a")))["hostname"] == "h"
    assert server.get(sites.path("v1beta1")).body["items"][0]["spec"]["host"] == "h"
    body = sites.new("v1beta1", "a", metadata={"resourceVersion": created.rv}, host="h")
    applied = f"{sites.path('v1beta1', 'a')}?fieldManager=m"
    refused = {
        "get": (server.get(path), "v1"),
        "metadata": (server.get(path, accept=_METADATA_LIST.replace("List", "")), "v1"),
        "scale": (server.get(f"{path}/scale"), "v1"),
        "delete": (server.delete(path), "v1"),
        "create": (server.create(sites.path("v1beta1"), sites.new("v1beta1", "b")), "v1beta1"),
        "put": (server.update(path, body), "v1beta1"),
        "merge": (server.patch(path, {"spec": {"other": "p"}}), "v1beta1"),
        "nothing": (server.patch(path, {"spec": {"other": "o"}}), "v1beta1"),
        "status": (server.patch(f"{path}/status", {"status": {"phase": "p"}}), "v1beta1"),
        "apply": (server.patch(applied, sites.new("v1beta1", "a"), APPLY), "v1beta1"),
    }
    for what, (answer, version) in refused.items():
        assert (answer.status, answer.message) == (500, sites.failure(version, _refused(hook))), what
    assert server.delete(f"{sites.path('v1beta1')}?labelSelector=no%3Dbody").status == 200
    hook.start()
    assert server.delete(path).status == 200


def test_a_change_while_the_webhook_is_down(sites: Sites, hook: ConversionWebhook) -> None:
    """It loses the managers of the object. Lists of the other version fail; its watches wait, and go on."""
    server = sites.server
    sites.create("v1beta1", "a", host="h")
    listed = server.eventually(sites.path("v1beta1"), lambda answer: len(answer.body["items"]) == 1)
    query = f"watch=1&timeoutSeconds=90&allowWatchBookmarks=true&resourceVersion={listed.rv}"
    with server.watch(f"{sites.path('v1beta1')}?{query}") as watch:
        hook.stop()
        changed = server.patch(sites.path("v1", "a"), {"metadata": {"labels": {"x": "y"}}})
        assert "managedFields" not in changed.body["metadata"]
        applied = server.patch(
            f"{sites.path('v1', 'a')}?fieldManager=m", sites.new("v1", "a", other="o"), APPLY
        )
        assert applied.status == 200
        refused = server.eventually(sites.path("v1beta1"), lambda answer: answer.status != 200)
        assert (refused.status, refused.message) == (500, sites.failure("v1", _refused(hook)))
        with server.watch(f"{sites.path('v1beta1')}?watch=1&timeoutSeconds=90") as behind:
            (error,) = behind.finish()
        assert error["type"] == "ERROR"
        assert error["object"]["message"].startswith("Timeout: Too large resource version: ")
        assert (watch.events, watch.ended) == ([], False)
        hook.start()
        first, second = (event["object"] for event in watch.count(2))
    assert (first["metadata"]["labels"], first["spec"]["host"]) == ({"x": "y"}, "h")
    assert second["spec"]["other"] == "o"


def test_what_was_never_converted(sites: Sites, hook: ConversionWebhook) -> None:
    """Lists and watches ask to come again while the cache of a version is empty; pages come from etcd."""
    server = sites.server
    sites.create("v1", "a", hostname="h")
    sites.convert_by(hook.conversion(**_DOWN))
    post = 'Post "https://127.0.0.1:9/convert?timeout=30s": dial tcp 127.0.0.1:9: connect: connection refused'
    told = sites.failure("v1", f"failed: {post}")
    message = f"storage is (re)initializing: failed to list {sites.group}/v1beta1, Kind=Site: {told}"
    path = sites.path("v1beta1")
    first = server.eventually(path, lambda answer: answer.status == 429 and answer.message == message)
    assert (first.body["reason"], first.field("Retry-After")) == ("TooManyRequests", "1")
    for answer in (server.get(f"{path}?watch=1"), server.get(path, accept=_METADATA_LIST)):
        assert (answer.status, answer.message) == (429, message)
    paged = server.get(f"{path}?limit=5")
    assert (paged.status, paged.message) == (500, told)
    sites.convert_by(hook.conversion())
    assert server.eventually(path, lambda answer: answer.status == 200).names == ["a"]


def test_one_object_that_nobody_converts(sites: Sites, hook: ConversionWebhook) -> None:
    """It fails every list that it is in; the others can be read, and it can be mended where it is stored."""
    server, path = sites.server, sites.path("v1beta1")

    def answer(review: Object) -> Object:
        bad = any((obj.get("spec") or {}).get("hostname") == "bad" for obj in review["request"]["objects"])
        said = {"convertedObjects": [], "result": {"status": "Failure", "message": "no"}}
        return converted(review, **(said if bad else {}))

    hook.answer = answer
    sites.create("v1", "a", hostname="h")
    assert server.eventually(path, lambda answer: answer.status == 200).names == ["a"]
    sites.create("v1", "b", hostname="bad")
    refused = server.eventually(path, lambda answer: answer.status != 200)
    assert (refused.status, refused.message) == (500, sites.failure("v1", "failed: no"))
    assert server.get(f"{path}/a").status == 200
    assert server.get(f"{path}/b").status == 500
    assert server.get(f"{path}?limit=1").names == ["a"]
    assert server.get(f"{path}?limit=2").status == 500
    server.patch(sites.path("v1", "b"), {"spec": {"hostname": "i"}})
    assert server.eventually(path, lambda answer: answer.status == 200).names == ["a", "b"]


def test_a_service(server: APIServer, namespace: str, group: str) -> None:
    """Its certificate is for NAME.NAMESPACE.svc, wherever an ExternalName leads."""
    with ConversionWebhook(f"hook.{namespace}.svc") as hook:
        service = {"namespace": namespace, "name": "hook", "path": "/convert", "port": hook.port}
        conversion = hook.conversion(url=None, service=service)
        with defined_sites(server, namespace, group, conversion) as sites:
            refused = server.create(sites.path("v1beta1"), sites.new("v1beta1", "a", host="h"))
            post = f'Post "https://hook.{namespace}.svc:{hook.port}/convert?timeout=30s"'
            assert refused.message == sites.failure("v1beta1", f'failed: {post}: service "hook" not found')
            spec = {"type": "ExternalName", "externalName": "localhost"}
            server.create(
                f"/api/v1/namespaces/{namespace}/services", {"metadata": {"name": "hook"}, "spec": spec}
            )
            body = sites.new("v1beta1", "a", host="h")
            made = server.repeat(
                lambda: server.create(sites.path("v1beta1"), body), lambda answer: answer.status == 201
            )
            assert _spec(made)["host"] == "h"


def test_certificates(server: APIServer, namespace: str, group: str, hook: ConversionWebhook) -> None:
    """One of another authority, or for another name, is not trusted."""
    with ConversionWebhook() as other, defined_sites(server, namespace, group, hook.conversion()) as sites:
        sites.create("v1", "a", hostname="h")
        wrong = {
            "x509: certificate signed by unknown authority": {"caBundle": other.authority},
            "x509: certificate is not valid for any names, but wanted to match localhost": {
                "url": f"https://localhost:{hook.port}/convert"
            },
        }
        for told, client in wrong.items():
            sites.convert_by(hook.conversion(**client))
            whole = f'/convert?timeout=30s": tls: failed to verify certificate: {told}'
            server.eventually(sites.path("v1beta1", "a"), partial(_says, whole))


def _says(text: str, answer: Answer) -> bool:
    return text in answer.message


@pytest.mark.parametrize("stored", ["v1", "v1beta1"])
def test_the_cluster_uses_the_preferred_version(
    server: APIServer, group: str, hook: ConversionWebhook, namespace: str, stored: str
) -> None:
    """Where sites are stored in another one, namespaces and the garbage collector wait for the webhook."""
    home = f"contract-{uuid.uuid4().hex[:10]}"
    owner = server.create(f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": "owner"}})
    with defined_sites(server, namespace, group, hook.conversion(), stored=stored) as sites:
        reference = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "owner",
            "uid": owner.body["metadata"]["uid"],
        }
        sites.create(stored, "owned", metadata={"ownerReferences": [reference]})
        server.create("/api/v1/namespaces", {"metadata": {"name": home}})
        there = Sites(server, group, home)
        there.create(stored, "a")
        sites.convert_by(hook.conversion(**_DOWN))
        server.repeat(
            lambda: server.create(f"{sites.path('v1')}?dryRun=All", {}), lambda answer: answer.status == 400
        )
        server.delete(f"/api/v1/namespaces/{namespace}/configmaps/owner")
        server.delete(f"/api/v1/namespaces/{home}")
        if stored == "v1":
            server.eventually(f"/api/v1/namespaces/{home}", lambda answer: answer.status == 404)
        else:
            # of any namespace that goes: beside those of many other tests ours may wait for its turn
            failed = (
                f"Failed to delete all resource types, 1 remaining: {sites.failure('v1beta1', 'failed: ')}"
            )
            server.eventually(
                "/api/v1/namespaces",
                lambda answer: any(
                    _content_failure(each).startswith(failed) for each in answer.body["items"]
                ),
            )
            assert server.get(sites.path(stored, "owned")).status == 200
            sites.convert_by(hook.conversion())
            server.eventually(f"/api/v1/namespaces/{home}", lambda answer: answer.status == 404)
        server.eventually(sites.path(stored, "owned"), lambda answer: answer.status == 404)


def _content_failure(namespace: dict[str, Any]) -> str:
    conditions = namespace["status"].get("conditions", [])
    found = [each for each in conditions if each["reason"] == "ContentDeletionFailed"]
    return found[0]["message"] if found else ""


def test_a_definition_waits_for_objects_in_an_older_version(sites: Sites, hook: ConversionWebhook) -> None:
    """Its objects are deleted in the version that it stores now."""
    server = sites.server
    sites.create("v1", "a", hostname="h")
    switch = [
        {"op": "replace", "path": f"/spec/versions/{index}/storage", "value": bool(index)} for index in (0, 1)
    ]
    server.eventually(sites.path("v1beta1"), lambda answer: answer.names == ["a"])
    hook.reviews.clear()
    assert server.patch(sites.definition, switch, JSON_PATCH).status == 200
    server.eventually(sites.path("v1beta1"), lambda answer: bool(hook.reviews) and answer.names == ["a"])
    hook.stop()
    told = sites.failure("v1", _refused(hook))
    server.eventually(
        sites.path("v1beta1", "a"), lambda answer: answer.status == 500 and answer.message == told
    )
    server.delete(sites.definition)
    conditions = server.eventually(
        sites.definition, lambda answer: _reason(answer) == "InstanceDeletionFailed"
    )
    (failed,) = (each for each in conditions.body["status"]["conditions"] if each["type"] == "Terminating")
    assert failed["message"] == f"could not issue all deletes: {told}"
    hook.start()
    server.eventually(sites.definition, lambda answer: answer.status == 404)


def _reason(answer: Answer) -> str:
    conditions = answer.body["status"]["conditions"]
    return next((each["reason"] for each in conditions if each["type"] == "Terminating"), "")
