"""Files with kinds that the server does not have, and lists: what kubectl learns from /openapi/v2."""

from __future__ import annotations

import json

import pytest

from support.builders.manifests import foo, foo_crd
from support.servers.kubectl import Kubectl

pytestmark = pytest.mark.kubectl

_MISSING = (
    'resource mapping not found for name: "one" namespace: "" from "STDIN": no matches for kind "Nothing" '
    'in version "nobody.example.org/v1"\nensure CRDs are installed first\n'
)


def _config_map(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


_NOTHING = {"apiVersion": "nobody.example.org/v1", "kind": "Nothing", "metadata": {"name": "one"}}


@pytest.mark.parametrize(
    "verb", [("apply",), ("apply", "--server-side"), ("create",), ("create", "--validate=warn")]
)
def test_the_rest_of_the_file(kubectl: Kubectl, verb: tuple[str, ...]) -> None:
    """An unknown kind is named, and what comes before and after it is written."""
    documents = (_config_map("before"), _NOTHING, _config_map("after"))
    text = "\n---\n".join(json.dumps(document) for document in documents)
    done = kubectl(*verb, "-f", "-", stdin=text, fails=True)
    assert done.err.endswith(_MISSING)
    assert [line.split()[0] for line in done.lines] == ["configmap/before", "configmap/after"]


def test_a_replacement(kubectl: Kubectl) -> None:
    """Replacing an object of an unknown kind says the same."""
    assert kubectl("replace", "-f", "-", stdin=json.dumps(_NOTHING), fails=True).err == f"error: {_MISSING}"


def test_a_list(kubectl: Kubectl) -> None:
    """A List is written item by item."""
    whole = {"apiVersion": "v1", "kind": "List", "items": [_config_map("one"), _config_map("two")]}
    done = kubectl("apply", "-f", "-", stdin=json.dumps(whole))
    assert done.lines == ["configmap/one created", "configmap/two created"]


def test_explain_from_version_2(kubectl: Kubectl) -> None:
    """The older `explain` shows the words of a definition, and those that every object has."""
    group = "explained.example.com"
    kubectl("apply", "-f", "-", stdin=foo_crd(group).replace("shortNames: [fo], ", ""))
    kubectl("wait", "--for=condition=Established", f"crd/foos.{group}")
    kubectl.until(lambda: kubectl.run("apply", "-f", "-", stdin=foo(group)).code == 0)
    for output in ("plaintext-openapiv2", "plaintext"):
        shown = " ".join(kubectl("explain", f"foos.{group}", f"--output={output}").out.split())
        assert "Standard object's metadata. More info" in shown
        assert "APIVersion defines the versioned schema" in shown
        assert "What is wanted." in kubectl("explain", f"foos.{group}.spec", f"--output={output}").out
    kubectl("delete", "crd", f"foos.{group}")
