"""The record of a soak, from which it is judged together with the server's log. Times are time.time()."""

from __future__ import annotations

from msgspec import Struct, field

from soak.plan import Fault


class Life(Struct):
    """
    One process of a replica. agent: its name in the server's log.

    code: its exit code; asked_to_stop: when it received a SIGTERM, or 0.
    """

    agent: str
    began: float
    ended: float = 0.0
    code: int | None = None
    asked_to_stop: float = 0.0
    tracebacks: list[str] = field(default_factory=list)


class Sample(Struct):
    """A process's resources at one time: memory in MiB, threads, handles."""

    at: float
    agent: str
    memory: float
    threads: int
    handles: int


class Struck(Struct):
    """A fault that struck a process, and the time."""

    at: float
    fault: Fault
    agent: str


class Record(Struct):
    """
    The record of a whole soak.

    Times: began, when the replicas started; ended, after the last fault and change; settled, when all objects
    were in their final state; quiet_until, the end of the time without changes that followed.

    Others: unsettled, the objects that were not in their final state; refused, the users' changes that the
    server refused; changes, the number of changes by sort; cached, how many objects each replica and the
    server have in the quiet time; kept, how many they have after all were deleted; outages, (seconds, failed
    requests) of each; silences, the seconds before each silent watch was closed.
    """

    seed: int
    seconds: float
    began: float
    ended: float = 0.0
    settled: float = 0.0
    quiet_until: float = 0.0
    unsettled: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    changes: dict[str, int] = field(default_factory=dict)
    cached: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    faults: list[Struck] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    outages: list[tuple[float, int]] = field(default_factory=list)
    silences: list[float] = field(default_factory=list)
