"""
Plays plans in the tree that it is started in: `python -m museum.replay "foo 1:lost" "myapp r3:503"`.

Exit code: FOUND = a plan fails, or the undisturbed run of its workload does; 0 = none.
"""

from __future__ import annotations

import sys

from handloop_explore import explore
from museum.exhibits import FOUND
from museum.workloads import INVARIANTS, WORKLOADS


def main() -> int:
    """Play the plans of the command line; of a workload without a plan the undisturbed run."""
    for line in sys.argv[1:]:
        workload, _, plan = line.partition(" ")
        try:
            invariants = INVARIANTS.get(workload, ())
            explore(WORKLOADS[workload], replay=plan, plans=1 if plan else 0, invariants=invariants).check()
        except AssertionError as error:
            sys.stdout.write(f"{error}\n")
            return FOUND
    return 0


if __name__ == "__main__":
    sys.exit(main())
