from __future__ import annotations

from handloop_learn import ch14_apply
from support.checks.chapters import told


def test_a_field_changes_hands_by_force_alone() -> None:
    """Another manager's field is a conflict; force takes it; what nobody applies any more is removed."""
    end, _ = told(ch14_apply.chapter)
    assert end.conflict == 'Apply failed with 1 conflict: conflict with "gitops": .spec.replicas'
    assert [fields.replicas for fields in end.fields] == [2, 2, 5, 5, None]
    assert [bool(fields.labels) for fields in end.fields] == [True, True, True, False, False]
    owners = [
        [who for who, names in fields.owners.items() if "spec.replicas" in names] for fields in end.fields
    ]
    assert owners == [["gitops"], ["gitops"], ["scaler"], ["scaler"], []]
