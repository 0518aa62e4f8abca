from __future__ import annotations

import pytest

from handloop.controller.runtime.guards.admission import admit_all
from handloop.informers.keys import ObjectName


def test_a_process_that_shares_nothing_admits_every_name_and_twice_at_once() -> None:
    """One block serves all workers, and swallows no error of theirs."""
    name = ObjectName("default", "a")
    with pytest.raises(ValueError, match="of a worker"), admit_all(name), admit_all(name):
        raise ValueError("of a worker")
