"""
Runs an operator's set_up with a manager that sends no requests, to find out which kinds and which access the
operator needs. The author therefore need not list them separately for `crd`, `rbac`, `doctor` and the checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from handloop.apis.declaration import is_built_in
from handloop.apis.meta import Kind
from handloop.apis.unstructured import Unstructured
from handloop.client.http.response import Response, Stream
from handloop.client.resource_client import Client
from handloop.controller.cli.operator import Setup, SetUpError
from handloop.controller.runtime.manager import Manager
from handloop.seams.logs import in_words


class DrySetUp:
    """
    The functions with which an author sets up controllers, and the kinds and access that these need.

    State: _found caches the result of setups, and is None before the first call. Threads: only the main
    thread may use this object.
    """

    def __init__(
        self,
        functions: Sequence[Callable[[Manager], object]],
        kinds: Sequence[type[Kind]] | None,
        sample: str = "",
    ) -> None:
        """
        Store the arguments. The functions are called only later.

        Args: kinds are the types that need a CRD; None means the custom kinds that the controllers reconcile,
        except partial views; sample is the path of a manifest with which to try the controllers.
        """
        self._functions = tuple(functions)
        self._kinds = kinds
        self._sample = sample
        self._found: tuple[Setup, ...] | None = None

    def names(self) -> tuple[str, ...]:
        """Return the controllers' names, or () if only one function is given. Raises: SetUpError."""
        return tuple(setup.name for setup in self.setups()) if len(self._functions) > 1 else ()

    def setups(self) -> tuple[Setup, ...]:
        """
        Call each function with a new manager, and return what it sets up.

        Raises: SetUpError if there is no function, or if one of them fails.
        """
        if not self._functions:
            raise SetUpError(
                "there is no controller yet: handloop create api --group web --version v1 --kind Site "
                "adds one to a project; outside a project, pass main a function that adds one to a manager"
            )
        if self._found is None:
            self._found = tuple(self._describe(function) for function in self._functions)
        return self._found

    def set_up(self, manager: Manager, names: Sequence[str]) -> None:
        """Call the chosen functions with a manager. Raises: SetUpError if a function fails."""
        for function, setup in zip(self._functions, self.setups(), strict=True):
            if len(self._functions) == 1 or setup.name in names:
                _call(function, manager)

    def _describe(self, function: Callable[[Manager], object]) -> Setup:
        manager = Manager(Client(_Unsent()))
        _call(function, manager)
        names = list(manager.runnables())
        if not names:
            text = (
                "set_up added no controller: end with controller_for(manager, name).for_(Kind).complete(...)"
            )
            raise SetUpError(text)
        reconciled, kinds = manager.reconciled_kinds(), self._kinds
        if kinds is None:
            kinds = [kind for kind in reconciled if has_own_definition(kind)]
        name = names[0] if len(self._functions) > 1 else ",".join(names)
        foreign = tuple(kind for kind in reconciled if kind not in kinds and needs_definition(kind))
        return Setup(
            name=name,
            kinds=tuple(kinds),
            foreign=foreign,
            written=tuple(kind for kind in manager.written_kinds() if not issubclass(kind, Unstructured)),
            access=manager.access(),
            sample=self._sample,
        )


def has_own_definition(kind: type[Kind]) -> bool:
    """Return whether a type defines a custom kind completely. Partial views and Unstructured do not."""
    return needs_definition(kind) and not kind.partial and not issubclass(kind, Unstructured)


def needs_definition(kind: type[Kind]) -> bool:
    """Return whether a kind needs a CRD. The CRD can belong to this program or to another one."""
    return not is_built_in(kind.resource.group)


def _call(function: Callable[[Manager], object], manager: Manager) -> None:
    try:
        function(manager)
    except Exception as error:
        raise SetUpError(f"set_up failed: {in_words(error, repr)}{_hint(error)}") from error


def _hint(error: Exception) -> str:
    """Return a hint for prometheus_client's error about a duplicate metric, which does not name set_up."""
    is_metric = isinstance(error, ValueError) and "Duplicated timeseries" in str(error)
    why = "set_up is called more than once: give the metric registry=manager.registry"
    return f"; {why}" if is_metric else ""


class _Unsent:
    """A handloop.client.transport.Transport that refuses every request."""

    def request(self, method: str, path: str, **_: Any) -> Response:
        """Raises: RuntimeError, because nothing may be sent."""
        _refuse(method, path)

    def stream(self, method: str, path: str, **_: Any) -> Stream:
        """Raises: RuntimeError, because nothing may be sent."""
        _refuse(method, path)


def _refuse(method: str, path: str) -> NoReturn:
    raise RuntimeError(
        f"set_up sent {method} {path}, but it must only build controllers: send requests in reconciles"
    )
