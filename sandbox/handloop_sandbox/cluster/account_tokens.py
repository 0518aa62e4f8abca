"""
The controller for Secrets of type service-account-token.

It gives each Secret a token that stays valid until the Secret is deleted, and deletes the Secrets of a
deleted service account.
Follows: kubernetes pkg/controller/serviceaccount/tokens_controller.go.
"""

from __future__ import annotations

import base64
from typing import Final

from handloop_sandbox.cluster.cluster_controller import KeyedController, Pace, View, Write
from handloop_sandbox.storage.stored import Change, ChangeType, Object
from handloop_sandbox.wire import tokens
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.tokens import Reference

SECRETS: Final = GroupResource("", "secrets")
ACCOUNTS: Final = GroupResource("", "serviceaccounts")
_TYPE: Final = "kubernetes.io/service-account-token"
_NAME: Final = "kubernetes.io/service-account.name"
_UID: Final = "kubernetes.io/service-account.uid"
_REACTION_SECONDS: Final = 0.1
_Key = tuple[str, str]


class AccountTokenController(KeyedController[_Key]):
    """Checks a Secret when it changes, and all Secrets of a service account when the account is deleted."""

    interests: frozenset[GroupResource] | None = frozenset({SECRETS, ACCOUNTS})

    def __init__(self, pace: Pace, *, root_ca: str = "") -> None:
        super().__init__(pace)
        self._root_ca = root_ca

    def _observe(self, view: View, change: Change, now: float) -> None:
        is_gone = change.type is ChangeType.DELETED
        if change.group_resource == ACCOUNTS:
            secrets = view.state.list(SECRETS, change.namespace) if is_gone else []
        else:
            secrets = [] if is_gone else [change.new.object]
        for secret in secrets:
            if secret.get("type") == _TYPE:
                key = (change.namespace, secret["metadata"]["name"])
                self._dirty.mark(key, now + self._pace.seconds(_REACTION_SECONDS))

    def _sync(self, view: View, key: _Key, now: float) -> list[Write]:
        del now
        secret = view.state.get(SECRETS, *key)
        if secret is None:
            return []
        annotations = secret["metadata"].get("annotations") or {}
        account = view.state.get(ACCOUNTS, key[0], annotations.get(_NAME, ""))
        if account is None or annotations.get(_UID) not in (None, "", account["metadata"]["uid"]):
            return [Write.of("delete", SECRETS, secret)]
        filled = self._filled(view, secret, Reference.of(account))
        return [] if filled == secret else [Write.of("update", SECRETS, filled)]

    def _filled(self, view: View, secret: Object, account: Reference) -> Object:
        """Return a copy of the Secret, with its token and any other missing data added."""
        metadata = secret["metadata"]
        namespace, data = metadata["namespace"], secret.get("data") or {}
        claims = tokens.lasting_claims(namespace, account, metadata["name"])
        texts = {
            "ca.crt": self._root_ca,
            "namespace": namespace,
            "token": tokens.sign(view.signing_key, claims),
        }
        added = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
        added |= {name: value for name, value in data.items() if value}
        annotations = {**metadata["annotations"], _UID: account.uid}
        return {**secret, "metadata": {**metadata, "annotations": annotations}, "data": added}
