"""
Access to `/metrics`: the API server decides who owns a token, and what the owner may do.

Follows: controller-runtime pkg/metrics/filters (WithAuthenticationAndAuthorization).
"""

from __future__ import annotations

import hashlib
from typing import Final

from cachetools import TTLCache

from handloop.client.access_review import Identity, check_path_access, whose_token
from handloop.client.errors import ClientError
from handloop.client.rest_client import RESTClient
from handloop.seams.clock import Clock
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger

log = get_logger("metrics")

TOKEN_SECONDS: Final = 60.0
ALLOWED_SECONDS: Final = 300.0
DENIED_SECONDS: Final = 30.0
_ENTRIES: Final = 1000

_OK: Final = 200
_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_FAILED: Final = 500

_Fingerprint = bytes
_Question = tuple[_Fingerprint, str]


class MetricsAuth:
    """
    Returns the status for a request: 200, 401, 403, or 500 if the API server cannot be reached.

    The API server's responses are cached. A token's owner is cached for one minute, a permission for five
    minutes, and a refusal for half a minute. The caches contain hashes of tokens, never tokens.

    State, under _lock: the three caches. Threads: the threads that serve pages. They do not hold the lock
    while they send requests, so two threads may send the same request.
    """

    def __init__(self, rest: RESTClient, clock: Clock) -> None:
        self._rest = rest
        self._lock = new_lock("MetricsAuth._lock", 94)
        self._bearers: TTLCache[_Fingerprint, Identity | None] = TTLCache(
            _ENTRIES, TOKEN_SECONDS, timer=clock.now
        )
        self._allowed: TTLCache[_Question, bool] = TTLCache(_ENTRIES, ALLOWED_SECONDS, timer=clock.now)
        self._denied: TTLCache[_Question, bool] = TTLCache(_ENTRIES, DENIED_SECONDS, timer=clock.now)

    def __call__(self, path: str, authorization: str) -> int:
        """
        Return the status for a GET of a path.

        Args: authorization is the value of the header, or "" if the request lacks it.
        Blocks: for at most two requests.
        """
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return _UNAUTHORIZED
        try:
            return self._status(path, token.strip())
        except ClientError as error:
            log.error("Could not ask who may read the metrics", err=str(error))  # noqa: TRY400 - no traceback
            return _FAILED

    def _status(self, path: str, token: str) -> int:
        fingerprint = hashlib.sha256(token.encode()).digest()
        bearer = self._bearer(fingerprint, token)
        if bearer is None:
            return _UNAUTHORIZED
        return _OK if self._may(fingerprint, bearer, path) else _FORBIDDEN

    def _bearer(self, fingerprint: _Fingerprint, token: str) -> Identity | None:
        with self._lock:
            if fingerprint in self._bearers:
                return self._bearers[fingerprint]
        bearer = whose_token(self._rest, token)
        with self._lock:
            self._bearers[fingerprint] = bearer
        return bearer

    def _may(self, fingerprint: _Fingerprint, bearer: Identity, path: str) -> bool:
        question = (fingerprint, path)
        with self._lock:
            if question in self._allowed or question in self._denied:
                return question in self._allowed
        decision = check_path_access(self._rest, bearer, path)
        allowed = decision.allowed and not decision.denied
        with self._lock:
            (self._allowed if allowed else self._denied)[question] = allowed
        return allowed
