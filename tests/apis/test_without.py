"""A kind without some of its fields."""

from __future__ import annotations

import msgspec
import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import decode_hook
from handloop.apis.without import without

_TEXT = b"""{"kind": "Deployment", "metadata": {"name": "a", "annotations": {"b": "c"}, "labels": {"d": "e"}},
"spec": {"replicas": 3, "template": {"spec": {"containers": "no list"}}}, "status": {"replicas": 2}}"""


def test_a_field_is_neither_decoded_nor_checked() -> None:
    """It has its default. The other fields are as ever, and so are the names of the type and the JSON."""
    brief = without(Deployment, "metadata.annotations", "spec.template", "status")
    read, default = msgspec.json.decode(_TEXT, type=brief, dec_hook=decode_hook), Deployment()
    assert isinstance(read, Deployment)
    assert (read.metadata.name, read.metadata.labels, read.metadata.annotations) == ("a", {"d": "e"}, {})
    assert (read.spec.replicas, read.spec.template, read.status) == (3, default.spec.template, default.status)
    assert brief.partial
    assert (brief.__name__, brief.resource) == ("Deployment", Deployment.resource)
    assert msgspec.to_builtins(read)["spec"] == {"replicas": 3}


@pytest.mark.parametrize("path", ["spec.replica", "specs", "spec.template.name"])
def test_a_path_that_leads_nowhere_is_refused(path: str) -> None:
    """It would leave out nothing."""
    with pytest.raises(TypeError, match="has no field"):
        without(Deployment, path)
