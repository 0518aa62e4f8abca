"""What a soak keeps of its run, beside the server's log: enough to judge it. Times are time.time()."""

from __future__ import annotations

from msgspec import Struct, field

from soak.plan import Fault


class Life(Struct):
    """One process of a replica: its name in the server's log, its end, and when it was asked to stop."""

    agent: str
    began: float
    ended: float = 0.0
    code: int | None = None
    asked_to_stop: float = 0.0
    tracebacks: list[str] = field(default_factory=list)


class Sample(Struct):
    """What a process has of its machine: memory in MiB, threads, handles."""

    at: float
    agent: str
    memory: float
    threads: int
    handles: int


class Struck(Struct):
    """A fault, and when it came."""

    at: float
    fault: Fault
    agent: str


class Record(Struct):
    """
    Times: began, when the replicas started; ended, when the last fault and change had come; settled, when all
    was as it should be; quiet_until, after that nothing was done.

    unsettled = what was not as it should be; refused = what the server did not take from users; changes, by
    what they did; cached, how many objects each replica and the server have while it is quiet; kept, the same
    when all is deleted; outages: (seconds, requests that failed meanwhile); silences, in seconds.
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
