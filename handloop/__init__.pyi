# The face of handloop for type checkers and editors; a test keeps it equal to __init__.py.

from handloop.apis.conditions import (
    Condition,
    find_condition,
    is_condition_false,
    is_condition_true,
    remove_condition,
    set_condition,
)
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import (
    EMPTY_MAP,
    APIStruct,
    FrozenMap,
    Kind,
    ObjectMeta,
    controller_of,
    is_controlled_by,
    new_controller_ref,
)
from handloop.apis.resource import Resource
from handloop.client.config import load_config
from handloop.client.errors import (
    AlreadyExists,
    APIError,
    ClientError,
    ConfigError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    TooManyRequests,
    TransportError,
)
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client, PatchType
from handloop.client.transport import HTTPTransport
from handloop.controller.runtime.access import Access
from handloop.controller.runtime.apply import apply, is_applied, owned_fields
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.election.config import LeaderElection
from handloop.controller.runtime.finalizers import (
    add_finalizer,
    has_finalizer,
    is_being_deleted,
    remove_finalizer,
)
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.owner_references import (
    AlreadyOwnedError,
    with_controller,
    with_owner,
    without_owner,
)
from handloop.controller.runtime.predicates import (
    AnnotationsChanged,
    GenerationChanged,
    LabelsChanged,
    LabelsMatch,
    PredicateFuncs,
    ResourceVersionChanged,
    all_of,
    any_of,
    negate,
)
from handloop.controller.runtime.reconcile import DONE, ReconcileContext, Reconciler, Result
from handloop.controller.runtime.reconcile_errors import ReconcileError, TerminalError
from handloop.controller.runtime.roles import roles
from handloop.informers.keys import ObjectName

__all__ = [
    "DONE",
    "EMPTY_MAP",
    "APIError",
    "APIStruct",
    "Access",
    "AlreadyExists",
    "AlreadyOwnedError",
    "AnnotationsChanged",
    "Client",
    "ClientError",
    "Condition",
    "ConfigError",
    "Conflict",
    "Forbidden",
    "FrozenMap",
    "GenerationChanged",
    "HTTPTransport",
    "Invalid",
    "Kind",
    "LabelsChanged",
    "LabelsMatch",
    "LeaderElection",
    "ListOptions",
    "Manager",
    "NotFound",
    "ObjectMeta",
    "ObjectName",
    "PatchType",
    "PredicateFuncs",
    "ReconcileContext",
    "ReconcileError",
    "Reconciler",
    "Resource",
    "ResourceVersionChanged",
    "Result",
    "TerminalError",
    "TooManyRequests",
    "TransportError",
    "add_finalizer",
    "all_of",
    "any_of",
    "apply",
    "controller_for",
    "controller_of",
    "custom_resource_definition",
    "find_condition",
    "has_finalizer",
    "is_applied",
    "is_being_deleted",
    "is_condition_false",
    "is_condition_true",
    "is_controlled_by",
    "load_config",
    "negate",
    "new_controller_ref",
    "owned_fields",
    "remove_condition",
    "remove_finalizer",
    "roles",
    "set_condition",
    "with_controller",
    "with_owner",
    "without_owner",
]
