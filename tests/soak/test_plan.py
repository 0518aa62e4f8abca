from __future__ import annotations

from soak.plan import ENDING, ENDS, changes, faults


def test_the_plan_is_a_function_of_the_seed() -> None:
    """Faults and changes are the same for a seed, and others for another one."""
    assert faults(1, 60.0) == faults(1, 60.0) != faults(2, 60.0)
    assert changes(1, 60.0) == changes(1, 60.0) != changes(2, 60.0)


def test_half_an_hour_has_500_faults_and_ends_no_process_late() -> None:
    """Memory is compared where processes live; until then each way to end one comes."""
    planned = faults(1, 1800.0)
    ends = [fault for fault in planned if fault.what in ENDS]
    assert len(planned) >= 500
    assert {fault.what for fault in ends} == ENDS.keys()
    assert max(fault.at for fault in ends) < ENDING * 1800.0 < planned[-1].at < 1800.0


def test_users_delete_only_what_they_made() -> None:
    """What is done about a name begins with its creation, and again after each deletion."""
    there: set[str] = set()
    for change in changes(1, 120.0):
        assert (change.what == "create") == (change.name not in there)
        (there.discard if change.what == "delete" else there.add)(change.name)
