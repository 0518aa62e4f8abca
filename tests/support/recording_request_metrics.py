"""Request metrics that remember."""

from __future__ import annotations


class RecordingRequestMetrics:
    """A RequestMetrics of handloop.client.request_metrics; `seen` has (series, labels..., value) in order."""

    def __init__(self) -> None:
        self.seen: list[tuple[object, ...]] = []

    def of(self, series: str) -> list[tuple[object, ...]]:
        """What was reported to one series."""
        return [entry[1:] for entry in self.seen if entry[0] == series]

    def request_total(self, *, code: str, method: str, host: str) -> None:
        self.seen.append(("total", code, method, host))

    def request_duration(self, *, verb: str, host: str, seconds: float) -> None:
        self.seen.append(("duration", verb, host, seconds))

    def request_size(self, *, verb: str, host: str, size: int) -> None:
        self.seen.append(("request_size", verb, host, size))

    def response_size(self, *, verb: str, host: str, size: int) -> None:
        self.seen.append(("response_size", verb, host, size))

    def request_retry(self, *, code: str, verb: str, host: str) -> None:
        self.seen.append(("retry", code, verb, host))

    def rate_limiter_duration(self, *, verb: str, host: str, seconds: float) -> None:
        self.seen.append(("rate_limiter", verb, host, seconds))

    def dns_resolution_duration(self, *, host: str, seconds: float) -> None:
        self.seen.append(("dns", host, seconds))
