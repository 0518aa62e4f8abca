from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.cluster.revisions import template_hash
from handloop.sandbox.kinds.go_dump import dump
from support.recordings import recorded


@pytest.mark.parametrize("line", recorded("templates"), ids=lambda line: line["hash"])
def test_hashes_are_those_of_a_real_cluster(line: dict[str, Any]) -> None:
    """A template, as a server completes it, has the hash that Go's ComputeHash gives it."""
    assert template_hash(line["template"]) == line["hash"]


def test_what_go_prints() -> None:
    """Members come in the order of declaration with their types, absent ones as zero values."""
    text = dump({"metadata": {"labels": {"b": "2", "a": "1"}}, "spec": {"hostNetwork": True}})
    assert text.startswith(
        "(v1.PodTemplateSpec){ObjectMeta:(v1.ObjectMeta){Name:(string) GenerateName:(string) "
    )
    assert " Labels:(map[string]string)map[a:1 b:2] Annotations:(map[string]string)<nil> " in text
    assert " TerminationGracePeriodSeconds:(*int64)<nil> " in text
    assert " HostNetwork:(bool)true HostPID:(bool)false " in text
