"""API errors as the client raises them."""

from __future__ import annotations

from handloop.client.errors import APIError, error_from_status
from handloop.client.errors.status import Status, StatusCause, StatusDetails


def api_error(
    code: int,
    reason: str,
    message: str = "",
    *,
    name: str = "",
    cause: str = "",
    retry_after_seconds: float | None = None,
) -> APIError:
    """The error for a Status; message is the reason unless given, name the object's."""
    causes = (StatusCause(reason=cause, message=cause),) if cause else ()
    details = StatusDetails(name=name, causes=causes)
    status = Status(code=code, reason=reason, message=message or reason, details=details)
    return error_from_status(status, retry_after_seconds=retry_after_seconds)
