from __future__ import annotations

import uuid
from typing import Any

import pytest

from support.builders.widgets import CRDS, Widgets, defined, definition, wait_until_served
from support.servers.api_server import APIServer, Object


def _with_rule(rule: str, **more: Any) -> Object:
    """The properties of a schema in which the default 1 has a rule."""
    rules = [{"rule": rule, **more}]
    return {"properties": {"x": {"type": "integer", "default": 1, "x-kubernetes-validations": rules}}}


_DEFAULT = "properties[x].default: Invalid value: 1"
_ANYTHING = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


@pytest.fixture
def group() -> str:
    """A group of this test alone."""
    return f"d{uuid.uuid4().hex[:8]}.contract.example.com"


def _condition(crd: Object, kind: str) -> Object:
    conditions = crd["status"]["conditions"] or []
    found: Object = next(entry for entry in conditions if entry["type"] == kind)
    return found


def test_a_definition_is_established_in_steps(server: APIServer, group: str) -> None:
    """The answer to a create has no conditions; names are accepted, then the definition is established."""
    start = server.get(CRDS).rv
    query = f"watch=1&timeoutSeconds=30&resourceVersion={start}"
    with server.watch(f"{CRDS}?{query}&fieldSelector=metadata.name%3Dthings.{group}") as watch:
        created = server.create(CRDS, definition(group, "things", "Thing"))
        assert created.status == 201
        assert created.body["status"]["conditions"] is None
        assert created.body["status"]["storedVersions"] == ["v1"]
        events = watch.count(3)
    accepted, established = (event["object"] for event in events[1:3])
    assert _condition(accepted, "NamesAccepted")["reason"] == "NoConflicts"
    assert _condition(accepted, "Established")["status"] == "False"
    assert _condition(established, "Established")["status"] == "True"
    assert established["status"]["acceptedNames"]["singular"] == "thing"
    server.delete(f"{CRDS}/things.{group}")


def test_a_defined_kind_is_in_discovery(server: APIServer, group: str) -> None:
    """Group, version, resource, subresources and names of a definition are discovered."""
    spec: dict[str, Any] = {
        "names": {"plural": "things", "kind": "Thing", "shortNames": ["th"], "categories": ["all"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": _ANYTHING,
                "subresources": {"status": {}},
            }
        ],
    }
    server.create(CRDS, definition(group, "things", "Thing", **spec))
    wait_until_served(server, group, "things")
    resources = {entry["name"]: entry for entry in server.get(f"/apis/{group}/v1").body["resources"]}
    assert set(resources) == {"things", "things/status"}
    assert resources["things"]["kind"] == "Thing"
    assert resources["things"]["shortNames"] == ["th"]
    assert resources["things"]["categories"] == ["all"]
    assert set(resources["things/status"]["verbs"]) == {"get", "patch", "update"}
    found = server.eventually(f"/apis/{group}", lambda answer: answer.status == 200)
    assert found.body["preferredVersion"]["groupVersion"] == f"{group}/v1"
    server.delete(f"{CRDS}/things.{group}")


def test_versions_share_their_objects(server: APIServer, group: str) -> None:
    """Objects are read in every served version; a deprecated one warns, an unserved one is 404."""
    versions = [
        {"name": "v1", "served": True, "storage": True, "schema": _ANYTHING},
        {"name": "v1beta1", "served": True, "storage": False, "deprecated": True, "schema": _ANYTHING},
        {"name": "v0", "served": False, "storage": False, "schema": _ANYTHING},
    ]
    server.create(CRDS, definition(group, "things", "Thing", scope="Cluster", versions=versions))
    wait_until_served(server, group, "things")
    wait_until_served(server, group, "things", "v1beta1")
    obj = {"apiVersion": f"{group}/v1beta1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"any": 1}}
    written = server.create(f"/apis/{group}/v1beta1/things", obj)
    assert (written.status, written.body["apiVersion"]) == (201, f"{group}/v1beta1")
    assert written.warnings == [f"{group}/v1beta1 Thing is deprecated; use {group}/v1 Thing"]
    read = server.get(f"/apis/{group}/v1/things/t")
    assert (read.body["apiVersion"], read.body["spec"]) == (f"{group}/v1", {"any": 1})
    assert server.get(f"/apis/{group}/v0/things/t").status == 404
    server.delete(f"{CRDS}/things.{group}")


def test_names_that_are_taken_are_not_accepted(server: APIServer, group: str) -> None:
    """A second definition with the same kind is stored but not established, with the reason."""
    server.create(CRDS, definition(group, "things", "Thing"))
    wait_until_served(server, group, "things")
    server.create(CRDS, definition(group, "thingz", "Thing"))
    path = f"{CRDS}/thingz.{group}"
    conflict = server.eventually(path, lambda answer: bool(answer.body["status"]["conditions"])).body
    assert _condition(conflict, "NamesAccepted")["status"] == "False"
    assert _condition(conflict, "NamesAccepted")["message"] == '"ThingList" is already in use'
    assert _condition(conflict, "Established")["reason"] == "NotAccepted"
    server.delete(path)
    server.delete(f"{CRDS}/things.{group}")


def test_definitions_are_validated(server: APIServer, group: str) -> None:
    """A name that does not match, a schema without types and a missing storage version are 422."""
    misnamed = definition(group, "things", "Thing")
    misnamed["metadata"]["name"] = f"other.{group}"
    refused = server.create(CRDS, misnamed)
    assert refused.causes[0][:2] == ("FieldValueInvalid", "metadata.name")
    untyped = {"openAPIV3Schema": {"properties": {"spec": {"type": "object"}}}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": untyped}]
    refused = server.create(CRDS, definition(group, "things", "Thing", versions=versions))
    assert [cause[2] for cause in refused.causes] == ["Required value: must not be empty at the root"]
    unstored = [{"name": "v1", "served": True, "storage": False, "schema": _ANYTHING}]
    refused = server.create(CRDS, definition(group, "things", "Thing", versions=unstored))
    assert "must have exactly one version marked as storage version" in refused.message


def test_a_changed_schema_is_in_force(server: APIServer, namespace: str, group: str) -> None:
    """After an update of the definition, new writes obey the new schema; old objects stay."""
    server.create(CRDS, definition(group, "things", "Thing"))
    wait_until_served(server, group, "things")
    path = f"/apis/{group}/v1/namespaces/{namespace}/things"
    obj = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"size": "big"}}
    assert server.create(path, obj).status == 201
    size = {"type": "object", "properties": {"size": {"type": "integer"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": size}}}
    change = [{"op": "replace", "path": "/spec/versions/0/schema", "value": schema}]
    server.patch(f"{CRDS}/things.{group}", change, "application/json-patch+json")
    probe = {**obj, "metadata": {"name": "b"}}
    server.eventually(f"{path}/a", lambda _: server.create(f"{path}?dryRun=All", probe).status == 422)
    assert server.get(f"{path}/a").body["spec"] == {"size": "big"}
    server.delete(f"{CRDS}/things.{group}")


def test_removing_a_definition_removes_its_objects(server: APIServer, namespace: str, group: str) -> None:
    """A definition waits for its objects, which wait for their finalizers; then the paths are gone."""
    server.create(CRDS, definition(group, "things", "Thing"))
    wait_until_served(server, group, "things")
    path = f"/apis/{group}/v1/namespaces/{namespace}/things"
    metadata = {"name": "held", "finalizers": ["example.com/f"]}
    server.create(path, {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": metadata})
    server.delete(f"{CRDS}/things.{group}")
    server.eventually(f"{path}/held", lambda answer: "deletionTimestamp" in answer.body["metadata"])
    late = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "late"}}
    # who answers for the objects learns of it a moment later
    probe = f"{path}?dryRun=All"
    server.eventually(f"{path}/held", lambda _: server.create(probe, late).status == 403)
    refused = server.create(path, late)
    assert refused.status == 403
    assert refused.message.endswith("create not allowed while custom resource definition is terminating")
    server.patch(f"{path}/held", {"metadata": {"finalizers": None}})
    server.eventually(f"{CRDS}/things.{group}", lambda answer: answer.status == 404)
    server.eventually(f"/apis/{group}", lambda answer: answer.status == 404)
    assert server.get(path).body == "404 page not found\n"


def test_openapi_describes_a_defined_kind(widgets: Widgets) -> None:
    """OpenAPI v3 lists the group and has the kind's schema with its group, version and kind."""
    group = widgets.group
    path = f"apis/{group}/v1"
    server = widgets.server
    index = server.eventually("/openapi/v3", lambda answer: path in answer.body["paths"])
    url = index.body["paths"][path]["serverRelativeURL"]
    schemas = server.get(url).body["components"]["schemas"]
    kinds = {
        entry["kind"]
        for schema in schemas.values()
        for entry in schema.get("x-kubernetes-group-version-kind", ())
        if entry["group"] == group
    }
    assert {"Widget", "WidgetList"} <= kinds


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"pattern": "(?u)a"}, "invalid or unsupported Perl syntax: `(?u`"),
        ({"pattern": "a++"}, "invalid nested repetition operator: `++`"),
        ({"pattern": "(?<=a)b"}, "invalid named capture: `(?<=a)b`"),
        ({"pattern": "^a\\Z"}, "invalid escape sequence: `\\Z`"),
        ({"x-kubernetes-validations": [{"rule": "math.greatest(1, 2) > 1"}]}, "reference to 'math'"),
        ({"x-kubernetes-validations": [{"rule": "cel.bind(x, 3, x > 2)"}]}, "reference to 'cel'"),
    ],
)
def test_what_does_not_compile_is_refused(server: APIServer, group: str, schema: Object, told: str) -> None:
    """A definition with a pattern that Go refuses, or a rule of a library that is not there, is refused."""
    whole = {"type": "object", "properties": {"a": {"type": "string", **schema}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}
    crd = definition(group, "things", "Thing", versions=[version])
    answer = server.create(f"{CRDS}?dryRun=All", crd)
    assert answer.status == 422
    assert told in answer.body["message"]


def test_a_definition_of_an_older_version_is_told_of_its_version(server: APIServer, group: str) -> None:
    """Servers serve v1 alone, and still know what v1beta1 was."""
    old = {**definition(group, "things", "Thing"), "apiVersion": "apiextensions.k8s.io/v1beta1"}
    refused = server.create(CRDS, {"kind": "CustomResourceDefinition", **old})
    assert (refused.status, refused.warnings) == (400, [])
    given, expected = "apiextensions.k8s.io/v1beta1", "apiextensions.k8s.io/v1"
    assert refused.message == (
        f"the API version in the data ({given}) does not match the expected API version ({expected})"
    )


def test_each_served_version_has_an_api_service(server: APIServer, group: str) -> None:
    """It is made again where a user deletes it, and goes with the definition."""
    path = f"/apis/apiregistration.k8s.io/v1/apiservices/v1.{group}"
    with defined(server, definition(group, "sites", "Site")):
        made = server.eventually(path, lambda answer: answer.status == 200).body
        assert made["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "true"}
        priorities = {"groupPriorityMinimum": 1000, "versionPriority": 100}
        assert made["spec"] == {"group": group, "version": "v1", **priorities}
        (condition,) = made["status"]["conditions"]
        assert (condition["type"], condition["status"], condition["reason"]) == ("Available", "True", "Local")
        server.delete(path)
        uid = made["metadata"]["uid"]
        server.eventually(path, lambda answer: answer.status == 200 and answer.body["metadata"]["uid"] != uid)
    server.eventually(path, lambda answer: answer.status == 404)


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"nullable": True}, "nullable: Forbidden: nullable cannot be true at the root"),
        (
            {"properties": {"kind": {"type": "string", "default": "Thing"}}},
            "properties[kind].default: Forbidden: must not be set in top-level kind",
        ),
        (
            {"properties": {"apiVersion": {"type": "string", "default": "v1"}}},
            "properties[apiVersion].default: Forbidden: must not be set in top-level apiVersion",
        ),
        (
            _with_rule("self > oldSelf"),
            "properties[x].default: Invalid value: 1: failed rule: self > oldSelf",
        ),
        (_with_rule("self >= oldSelf"), ""),
        (
            _with_rule("!oldSelf.hasValue()", optionalOldSelf=True),
            f"{_DEFAULT}: failed rule: !oldSelf.hasValue()",
        ),
    ],
)
def test_a_root_and_defaults_are_checked(server: APIServer, group: str, schema: Object, told: str) -> None:
    """The old value of a default is the default itself."""
    crd = definition(group, "things", "Thing")
    crd["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"type": "object", **schema}}
    answer = server.create(f"{CRDS}?dryRun=All", crd)
    assert answer.status == (422 if told else 201)
    if told:
        assert answer.body["message"].endswith(f" spec.validation.openAPIV3Schema.{told}")


@pytest.mark.parametrize("approval", ["http://[", "http://a:b", "http://%zz", "x"])
def test_a_protected_group_needs_a_valid_url(server: APIServer, approval: str) -> None:
    """Anything else is no approval."""
    crd = definition("approved.k8s.io", "things", "Thing")
    crd["metadata"]["annotations"] = {"api-approved.kubernetes.io": approval}
    answer = server.create(f"{CRDS}?dryRun=All", crd)
    assert answer.status == 422
    assert f'Invalid value: "{approval}": protected groups must have approval' in answer.body["message"]


def test_a_deprecation_warning_is_measured_in_bytes(server: APIServer, group: str) -> None:
    """Two hundred characters can be too many."""
    crd = definition(group, "things", "Thing")
    crd["spec"]["versions"][0] |= {"deprecated": True, "deprecationWarning": "é" * 200}
    answer = server.create(f"{CRDS}?dryRun=All", crd)
    assert answer.status == 422
    assert answer.body["message"].endswith("must be <= 256 characters long")


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("https://[", "missing ']' in host"),
        ("https://a:b/", 'invalid port ":b" after host'),
        ("https://a/%zz", 'invalid URL escape "%zz"'),
        (":", "missing protocol scheme"),
    ],
)
def test_a_webhook_needs_a_valid_url(server: APIServer, group: str, url: str, wrong: str) -> None:
    """A URL that does not parse is refused with the parser's words."""
    crd = definition(group, "things", "Thing")
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": url}}
    crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    answer = server.create(f"{CRDS}?dryRun=All", crd)
    assert answer.status == 422
    told = f'url must be a valid URL: parse "{url}": {wrong}; desired format: https://host[/path]'
    assert answer.body["message"].endswith(told)
