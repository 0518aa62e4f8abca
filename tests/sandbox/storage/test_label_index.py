from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handloop.sandbox.cluster.workloads import PODS
from handloop.sandbox.storage.label_index import LabelIndex
from handloop.sandbox.storage.stored import Change, ChangeType, Stored

_LABEL_SETS = st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), max_size=2)


def _stored(name: str, labels: dict[str, str]) -> Stored:
    return Stored({"metadata": {"name": name, "namespace": "n", "labels": labels}}, 1)


@given(st.lists(st.tuples(st.sampled_from("pqr"), st.none() | _LABEL_SETS), max_size=20), _LABEL_SETS)
def test_agrees_with_a_scan(steps: list[tuple[str, dict[str, str] | None]], wanted: dict[str, str]) -> None:
    """After any adds, relabellings and deletions, matching() finds what looking at every object finds."""
    index = LabelIndex()
    present: dict[str, Stored] = {}
    for name, labels in steps:
        old = present.pop(name, None)
        if labels is not None:
            present[name] = _stored(name, labels)
            kind = ChangeType.MODIFIED if old else ChangeType.ADDED
            index.observe(Change(kind, PODS, new=present[name], old=old))
        elif old is not None:
            index.observe(Change(ChangeType.DELETED, PODS, new=old, old=old))
    scan = sorted(
        name
        for name, stored in present.items()
        if wanted.items() <= stored.object["metadata"]["labels"].items()
    )
    assert index.matching("n", wanted) == (scan if wanted else [])
    assert index.matching("other", wanted) == []
