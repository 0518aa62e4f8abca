"""Objects of kinds nobody typed."""

from __future__ import annotations

from handloop.apis.unstructured import Unstructured

RAW = b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "b"}, "spec": {"x": [1]}}'


def test_metadata_is_read_and_the_rest_kept() -> None:
    """Names come from the metadata; nothing of the object is lost."""
    obj = Unstructured(RAW)
    assert (obj.kind, obj.api_version, obj.metadata.name) == ("Pod", "v1", "a")
    assert obj.raw == RAW
    assert obj.content()["spec"] == {"x": [1]}
    assert repr(obj) == "<Pod b/a>"


def test_content_is_the_callers_to_change() -> None:
    """A changed dict does not reach the object."""
    obj = Unstructured(RAW)
    obj.content()["spec"]["x"].append(2)
    assert obj.content()["spec"] == {"x": [1]}


def test_it_owns_its_bytes() -> None:
    """A slice of a list page is copied, so that one object does not keep the page alive."""
    page = bytearray(RAW + RAW)
    obj = Unstructured(bytes(memoryview(page)[: len(RAW)]))
    page[:] = b"x" * len(page)
    assert obj.raw == RAW
