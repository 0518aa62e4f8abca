"""CustomResourceDefinitions and their objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count

import pytest

from support.builders.manifests import foo, foo_crd
from support.servers.kubectl import Kubectl

pytestmark = pytest.mark.kubectl

_numbers = count(1)


@pytest.fixture(scope="module")
def group(cluster: Kubectl) -> Iterator[str]:
    """The group of a Foo that is served."""
    name = "samplecontroller.k8s.io"
    cluster("apply", "-f", "-", stdin=foo_crd(name))
    cluster("wait", "--for=condition=Established", f"crd/foos.{name}")
    yield name
    cluster("delete", "crd", f"foos.{name}")


@pytest.fixture
def foos(kubectl: Kubectl, group: str) -> Kubectl:
    """A namespace with one Foo."""
    kubectl("apply", "-f", "-", stdin=foo(group))
    return kubectl


def test_definition(cluster: Kubectl, group: str) -> None:
    """A CRD is listed, described, and its kind discovered with its names."""
    row = cluster("get", "crd", f"foos.{group}").words[1]
    assert row[0] == f"foos.{group}"
    assert "Established" in cluster("describe", "crd", f"foos.{group}").out
    rows = cluster("api-resources", f"--api-group={group}", "--no-headers").words
    assert rows == [["foos", "fo", f"{group}/v1alpha1", "true", "Foo"]]
    assert f"{group}/v1alpha1" in cluster("api-versions").lines


def test_columns(foos: Kubectl) -> None:
    """The definition's columns, short names and categories work; columns of lower priority are wide."""
    header, row = foos("get", "foos").words
    assert (header, row[:2]) == (["NAME", "DESIRED", "AVAILABLE", "AGE"], ["example", "1"])
    header, row = foos("get", "fo", "-o", "wide").words
    assert header == ["NAME", "DESIRED", "AVAILABLE", "DEPLOYMENT", "AGE"]
    assert "example-deployment" in row
    assert "foo.samplecontroller.k8s.io/example" in foos("get", "all", "-o", "name").lines


def test_defaults_and_pruning(kubectl: Kubectl, group: str) -> None:
    """Absent fields get their defaults; unknown ones are an error, or dropped with a warning."""
    kubectl("apply", "-f", "-", stdin=foo(group, replicas=None))
    assert kubectl.value(".spec.replicas", "foo", "example") == "1"
    typo = foo(group, name="typo").replace("replicas", "replica")
    refused = kubectl("create", "-f", "-", stdin=typo, fails=True)
    assert 'unknown field "spec.replica"' in refused.err
    warned = kubectl("create", "--validate=warn", "-f", "-", stdin=typo)
    assert 'Warning: unknown field "spec.replica"' in warned.err
    assert kubectl.json("get", "foo", "typo")["spec"] == {"deploymentName": "typo-deployment", "replicas": 1}


def test_validation(kubectl: Kubectl, group: str) -> None:
    """Values out of range and missing fields are refused in the server's words."""
    big = kubectl("create", "-f", "-", stdin=foo(group, replicas=50), fails=True)
    assert big.err == (
        'The Foo "example" is invalid: spec.replicas: Invalid value: 50: '
        "spec.replicas in body should be less than or equal to 10\n"
    )
    nameless = foo(group).replace("deploymentName: example-deployment, ", "")
    missing = kubectl("create", "-f", "-", stdin=nameless, fails=True)
    assert "spec.deploymentName: Required value" in missing.err


def test_status_is_apart(foos: Kubectl) -> None:
    """Status changes only through its subresource, spec only outside it; generation follows the spec."""
    foos("patch", "foo", "example", "--type=merge", "-p", '{"status":{"availableReplicas":1}}')
    assert foos.value(".status", "foo", "example") == ""
    patch = '{"spec":{"replicas":9},"status":{"availableReplicas":1}}'
    foos("patch", "foo", "example", "--subresource=status", "--type=merge", "-p", patch)
    shown = foos.json("get", "foo", "example")
    assert (shown["status"], shown["spec"]["replicas"]) == ({"availableReplicas": 1}, 1)
    assert shown["metadata"]["generation"] == 1
    assert foos("get", "foo", "example").words[1][:3] == ["example", "1", "1"]
    foos("patch", "foo", "example", "--type=merge", "-p", '{"spec":{"replicas":2}}')
    assert foos.value(".metadata.generation", "foo", "example") == "2"


def test_scale(foos: Kubectl) -> None:
    """`scale` works through the definition's paths and keeps to the schema."""
    assert foos("scale", "foo/example", "--replicas=3").out == "foo.samplecontroller.k8s.io/example scaled\n"
    assert foos.value(".spec.replicas", "foo", "example") == "3"
    refused = foos("scale", "foo/example", "--replicas=11", fails=True)
    assert "should be less than or equal to 10" in refused.err


def test_wait_and_watch(foos: Kubectl) -> None:
    """`wait` and `get -w` see a status change."""
    with foos.following("get", "foos", "-w") as follower:
        follower.wait_for(lambda lines: len(lines) == 2)
        patch = '{"status":{"availableReplicas":1,"conditions":[{"type":"Ready","status":"True"}]}}'
        foos("patch", "foo", "example", "--subresource=status", "--type=merge", "-p", patch)
        follower.wait_for(lambda lines: len(lines) == 3 and lines[2].split()[:3] == ["example", "1", "1"])
    assert "condition met" in foos("wait", "--for=condition=Ready", "foo/example").out
    assert "condition met" in foos("wait", "--for=jsonpath={.status.availableReplicas}=1", "foo/example").out


def test_describe_and_explain(foos: Kubectl) -> None:
    """`describe` shows the fields and events, `explain` the definition's descriptions."""
    out = foos("describe", "foo", "example").out
    assert "Deployment Name:  example-deployment" in out
    assert out.splitlines()[-1].split() == ["Events:", "<none>"]
    explained = foos("explain", "foo.spec").out
    assert "What is wanted." in explained
    assert "deploymentName\t<string> -required-" in explained


def test_patches(foos: Kubectl) -> None:
    """Merge and JSON patches work on custom resources; strategic ones are not for them."""
    operations = json.dumps([{"op": "replace", "path": "/spec/replicas", "value": 4}])
    foos("patch", "foo", "example", "--type=json", "-p", operations)
    assert foos.value(".spec.replicas", "foo", "example") == "4"
    refused = foos("patch", "foo", "example", "--type=strategic", "-p", "{}", fails=True)
    assert "the body of the request was in an unknown format" in refused.err


def test_apply_and_label(foos: Kubectl, group: str) -> None:
    """apply, label and annotate work as on built-in kinds."""
    applied = foos("apply", "-f", "-", stdin=foo(group, replicas=5))
    assert applied.out == f"foo.{group}/example configured\n"
    assert foos("apply", "-f", "-", stdin=foo(group, replicas=5)).out == f"foo.{group}/example unchanged\n"
    foos("label", "foo", "example", "tier=front")
    assert foos("get", "foos", "-l", "tier=front", "-o", "name").lines == [f"foo.{group}/example"]
    forced = foos("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=foo(group, replicas=6))
    assert forced.out == f"foo.{group}/example serverside-applied\n"


def test_owned_objects_go_with_their_foo(foos: Kubectl) -> None:
    """A Deployment owned by a Foo goes when the Foo does."""
    uid = foos.value(".metadata.uid", "foo", "example")
    foos("create", "deployment", "owned", "--image=nginx")
    reference = {
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "kind": "Foo",
        "name": "example",
        "uid": uid,
    }
    owners = json.dumps({"metadata": {"ownerReferences": [{**reference, "controller": True}]}})
    foos("patch", "deployment", "owned", "--type=merge", "-p", owners)
    foos("delete", "foo", "example")
    foos("wait", "--for=delete", "deployment/owned")
    foos("wait", "--for=delete", "pods", "-l", "app=owned")


def test_deleted_definition(kubectl: Kubectl) -> None:
    """Deleting a CRD deletes its objects, and the kind is gone."""
    group = f"gone{next(_numbers)}.example.com"
    kubectl("apply", "-f", "-", stdin=foo_crd(group).replace("shortNames: [fo], ", ""))
    kubectl("wait", "--for=condition=Established", f"crd/foos.{group}")
    kubectl("apply", "-f", "-", stdin=foo(group))
    kubectl("delete", "crd", f"foos.{group}")
    kubectl.until(lambda: "doesn't have a resource type" in kubectl.run("get", f"foos.{group}").err)
