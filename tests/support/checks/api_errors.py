"""API errors as the client raises them."""

from __future__ import annotations

from handloop.client.errors import APIError, error_from_status
from handloop.client.errors.status import Status, StatusCause, StatusDetails


def api_error(
    code: int,
    reason: str,
    message: str = "refused",
    *,
    cause: str = "",
    retry_after_seconds: float | None = None,
) -> APIError:
    """The error for a Status; cause is the reason of its only cause."""
    causes = (StatusCause(reason=cause),) if cause else ()
    details = StatusDetails(name="a", causes=causes)
    status = Status(code=code, reason=reason, message=message, details=details)
    return error_from_status(status, retry_after_seconds=retry_after_seconds)
