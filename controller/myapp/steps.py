"""The steps of one reconcile, each taken whatever became of the others, and what became of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from handloop.client.errors import AlreadyExists, APIError, ClientError, Conflict, TooManyRequests
from handloop.controller.myapp.child import NameTakenError, WaitError

T = TypeVar("T")


class Steps:
    """
    How the steps of one reconcile went.

    State: failures and waits, in words; lost = why the whole comes again, with nothing to be told of it: a
    race that somebody else won, so that what we know is old, or a server that asks for time.
    """

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.waits: list[str] = []
        self.lost: APIError | None = None

    def take(self, what: str, step: Callable[[], T]) -> T | None:
        """
        Do it; None when it could not be done.

        Args: what it is about, for the words. Raises: what is none of ours nor of the client's.
        """
        try:
            return step()
        except (Conflict, AlreadyExists, TooManyRequests) as error:
            self.lost = error
        except WaitError as wait:
            self.waits.append(str(wait))
        except NameTakenError as error:
            self.failures.append(str(error))
        except ClientError as error:
            self.failures.append(f"{what}: {error}")
        return None
