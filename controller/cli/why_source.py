"""
Finds the process that `why` asks: the one at an address, or the one in a cluster that works on a name.

A request to a pod goes through the API server's proxy, which any user with read access to `pods/proxy` can
use. The proxy removes the Authorization header, so a different header carries the token. The token is for the
pod's own service account, and is valid for ten minutes. As for any request, the pod asks the API server
whether that account may read `/why`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from handloop.apis.decoders import decoder_of
from handloop.client.http.response import Response
from handloop.client.transport import Transport
from handloop.controller.runtime.reconciling.explainer import Why
from handloop.controller.runtime.serving.page_server import PASSED_ON, WHY

_TOKEN: Final = {
    "apiVersion": "authentication.k8s.io/v1",
    "kind": "TokenRequest",
    "spec": {"expirationSeconds": 600},
}
_OK: Final = 200
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_NO_SUCCESS: Final = 300
_UNREACHED: Final = 500
"""If the pod uses the other scheme (HTTP or HTTPS), the proxy answers with this status or a higher one."""
_REQUEST_SECONDS: Final = 10.0


class Question(NamedTuple):
    """A question: the names of an object and of a controller ("" means all controllers)."""

    name: str
    controller: str = ""

    @property
    def query(self) -> dict[str, str]:
        """The page's query parameters."""
        return {"name": self.name, "controller": self.controller, "o": "json"}


class SourceFailedError(Exception):
    """The process cannot be asked. fix is what to do, or "" if that is unknown."""

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(what)
        self.fix = fix


def ask_process(transport: Transport, question: Question) -> Why:
    """
    Send the question to the process that transport reaches.

    Raises: SourceFailedError if the answer is not an explanation; TransportError if no answer arrives.
    """
    answer = transport.request("GET", WHY, query=question.query, timeout_seconds=_REQUEST_SECONDS)
    return _read(answer, "the process")


def _read(answer: Response, who: str) -> Why:
    if answer.status == _OK:
        with suppress(msgspec.MsgspecError):
            return decoder_of(Why).decode(answer.body)
        raise SourceFailedError(f"{who} does not answer as handloop does")
    text = answer.body.decode(errors="replace").strip()[:300]
    fix = "is that the metrics address of a program of this version?" if answer.status == _NOT_FOUND else ""
    raise SourceFailedError(f"{who} answers {answer.status}: {text}", fix)


class ClusterSource:
    """
    Finds an operator's processes in one of a cluster's namespaces.

    Threads: used by one thread only. Its methods raise the errors of ask_process.
    """

    def __init__(self, transport: Transport, namespace: str, name: str) -> None:
        """Args: name is the operator's name. The names of its Leases start with it."""
        self._transport = transport
        self._namespace = namespace
        self._name = name

    def ask(self, question: Question) -> Why:
        """Ask the process that works on the object. Any process of the operator knows which one does so."""
        first = next(self._holders(), "")
        if not first:
            raise SourceFailedError(
                f"no Lease of {self._name} in namespace {self._namespace} is held",
                "give the program's -n NAMESPACE, the --name that its Leases begin with, or an --address",
            )
        why = self._ask_pod(first, question)
        return self._ask_pod(why.holder, question) if why.holder not in ("", first) else why

    def _holders(self) -> Iterator[str]:
        """Yield the identities of the operator's processes, the leader's first."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{quote(self._namespace, safe='')}/leases"
        found = {
            each["metadata"]["name"]: (each.get("spec") or {}).get("holderIdentity") or ""
            for each in self._get(path, f"list leases in namespace {self._namespace}")["items"]
        }
        yield from filter(None, [found.get(self._name)])
        begin = f"{self._name}-member-"
        yield from (holder for name, holder in sorted(found.items()) if name.startswith(begin) and holder)

    def _ask_pod(self, identity: str, question: Question) -> Why:
        name = identity.rpartition("_")[0]
        path = f"/api/v1/namespaces/{quote(self._namespace, safe='')}/pods/{quote(name, safe='')}"
        missing = f"the holder {identity} is not a pod: use --address with the address of the process"
        if not name:
            raise SourceFailedError(missing)  # without a name, the path would be that of all pods
        pod = self._get(path, f"get pod {name}", missing=missing)
        headers = {PASSED_ON: f"Bearer {self._token(pod)}"}
        folder, port = path.rpartition("/")[0], _metrics_port(pod)
        answer = self._proxied(f"{folder}/{quote(f'https:{name}:{port}', safe='')}", question, headers)
        if answer.status >= _UNREACHED:
            answer = self._proxied(f"{folder}/{quote(f'http:{name}:{port}', safe='')}", question, headers)
        return _read(answer, f"pod {name}")

    def _proxied(self, target: str, question: Question, headers: Mapping[str, str]) -> Response:
        answer = self._transport.request(
            "GET",
            f"{target}/proxy{WHY}",
            query=question.query,
            headers=headers,
            timeout_seconds=_REQUEST_SECONDS,
        )
        if answer.status == _FORBIDDEN and b"pods/proxy" in answer.body:
            raise self._may_not("get pods/proxy")
        return answer

    def _token(self, pod: Mapping[str, Any]) -> str:
        account = pod["spec"].get("serviceAccountName") or "default"
        where = f"/api/v1/namespaces/{quote(self._namespace, safe='')}/serviceaccounts"
        made = self._transport.request(
            "POST", f"{where}/{quote(account, safe='')}/token", body=msgspec.json.encode(_TOKEN)
        )
        found = self._decoded(made, f"create serviceaccounts/token of {account}")
        return str(found["status"]["token"])

    def _get(self, path: str, what: str, *, missing: str = "") -> Any:
        answer = self._transport.request("GET", path, timeout_seconds=_REQUEST_SECONDS)
        if answer.status == _NOT_FOUND and missing:
            raise SourceFailedError(missing)
        return self._decoded(answer, what)

    def _decoded(self, answer: Response, what: str) -> Any:
        if answer.status == _FORBIDDEN:
            raise self._may_not(what)
        try:
            body = msgspec.json.decode(answer.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            body = None  # such as a load balancer's page
        if not isinstance(body, dict):
            raise SourceFailedError(f"cannot {what}: the server answers {answer.status} without an object")
        if answer.status >= _NO_SUCCESS:
            raise SourceFailedError(f"cannot {what}: {body.get('message', answer.status)}")
        return body

    def _may_not(self, what: str) -> SourceFailedError:
        role = _ROLE % (self._name, self._namespace)
        return SourceFailedError(f"you may not {what}", f"a role that allows it, to be bound to you:\n{role}")


_ROLE: Final = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: %s-why, namespace: %s}
rules:
  - {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [list]}
  - {apiGroups: [""], resources: [pods, pods/proxy], verbs: [get]}
  - {apiGroups: [""], resources: [serviceaccounts/token], verbs: [create]}
"""


def _metrics_port(pod: Mapping[str, Any]) -> int:
    """Return the number of the port `metrics`. Raises: SourceFailedError if the pod has no such port."""
    ports = [port for each in pod["spec"]["containers"] for port in each.get("ports") or ()]
    found = next((port["containerPort"] for port in ports if port.get("name") == "metrics"), None)
    if found is None:
        name = pod["metadata"]["name"]
        raise SourceFailedError(
            f"no port of pod {name} is called metrics", "use kubectl port-forward, and --address"
        )
    return int(found)
