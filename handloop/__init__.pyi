# The face of handloop for type checkers and editors; a test keeps it equal to __init__.py.

from handloop.apis.conditions import (
    Condition,
    find_condition,
    is_condition_false,
    is_condition_true,
    remove_condition,
    set_condition,
)
from handloop.apis.crd import (
    ANY_FIELDS,
    LIST_ATOMIC,
    LIST_SET,
    PrinterColumn,
    Rule,
    Scale,
    custom_resource_definition,
    list_map,
)
from handloop.apis.duration_field import Duration, timedelta_of
from handloop.apis.evolve import evolve
from handloop.apis.json_value import JSON
from handloop.apis.labels import SelectorError
from handloop.apis.meta import (
    EMPTY_MAP,
    APIStruct,
    FrozenMap,
    Kind,
    MapOf,
    ObjectMeta,
    controller_of,
    format_time,
    is_controlled_by,
    new_controller_ref,
    parse_time,
)
from handloop.apis.quantity import Amount
from handloop.apis.resource import Resource
from handloop.apis.secret_data import secret_data
from handloop.apis.unstructured import Unstructured
from handloop.client.config import load_config
from handloop.client.errors import (
    AlreadyExists,
    APIError,
    ClientError,
    ConfigError,
    Conflict,
    Forbidden,
    Invalid,
    NoKindMatch,
    NotFound,
    TooManyRequests,
    TransportError,
    seconds_asked_for,
)
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client, PatchType
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.main import main
from handloop.controller.runtime.apply import apply, is_applied, owned_fields
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.context import Context, NameTakenError
from handloop.controller.runtime.controller import ControllerOptions
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.events.recorder import EVENT_TYPE_NORMAL, EVENT_TYPE_WARNING, EventRecorder
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
from handloop.controller.runtime.rbac.access import Access
from handloop.controller.runtime.rbac.roles import roles
from handloop.controller.runtime.reconcile import DONE, ReconcileError, Result, TerminalError, WaitError
from handloop.controller.runtime.reconciler import Reconciler
from handloop.informers.factory import SharedInformerFactory
from handloop.informers.handlers import FilteringResourceEventHandler, ResourceEventHandlerFuncs
from handloop.informers.indexer import Indexer
from handloop.informers.informer_options import InformerOptions
from handloop.informers.keys import (
    DeletedFinalStateUnknown,
    NoMetaError,
    ObjectName,
    deletion_handling_meta_namespace_key_func,
    meta_namespace_key_func,
    object_name,
)
from handloop.informers.lister import Lister
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.informers.sync import wait_for_cache_sync
from handloop.workqueue.queue import ShutDown
from handloop.workqueue.rate_limiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    default_controller_rate_limiter,
)
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue

__all__ = [
    "ANY_FIELDS",
    "DONE",
    "EMPTY_MAP",
    "EVENT_TYPE_NORMAL",
    "EVENT_TYPE_WARNING",
    "JSON",
    "LIST_ATOMIC",
    "LIST_SET",
    "APIError",
    "APIStruct",
    "Access",
    "AlreadyExists",
    "AlreadyOwnedError",
    "Amount",
    "AnnotationsChanged",
    "BucketRateLimiter",
    "Client",
    "ClientError",
    "Condition",
    "ConfigError",
    "Conflict",
    "Context",
    "ControllerOptions",
    "DeletedFinalStateUnknown",
    "Duration",
    "EventRecorder",
    "FilteringResourceEventHandler",
    "Forbidden",
    "FrozenMap",
    "GenerationChanged",
    "HTTPTransport",
    "Indexer",
    "InformerOptions",
    "Invalid",
    "ItemExponentialFailureRateLimiter",
    "Kind",
    "LabelsChanged",
    "LabelsMatch",
    "LeaderElectionConfig",
    "ListOptions",
    "Lister",
    "Manager",
    "MapOf",
    "MaxOfRateLimiter",
    "NameTakenError",
    "NoKindMatch",
    "NoMetaError",
    "NotFound",
    "ObjectMeta",
    "ObjectName",
    "PatchType",
    "PredicateFuncs",
    "PrinterColumn",
    "RateLimiter",
    "RateLimitingQueue",
    "ReconcileError",
    "Reconciler",
    "Resource",
    "ResourceEventHandlerFuncs",
    "ResourceVersionChanged",
    "Result",
    "Rule",
    "Scale",
    "SelectorError",
    "SharedIndexInformer",
    "SharedInformerFactory",
    "ShutDown",
    "TerminalError",
    "TooManyRequests",
    "TransportError",
    "Unstructured",
    "WaitError",
    "add_finalizer",
    "all_of",
    "any_of",
    "apply",
    "controller_for",
    "controller_of",
    "custom_resource_definition",
    "default_controller_rate_limiter",
    "deletion_handling_meta_namespace_key_func",
    "evolve",
    "find_condition",
    "format_time",
    "has_finalizer",
    "is_applied",
    "is_being_deleted",
    "is_condition_false",
    "is_condition_true",
    "is_controlled_by",
    "list_map",
    "load_config",
    "main",
    "meta_namespace_key_func",
    "negate",
    "new_controller_ref",
    "object_name",
    "owned_fields",
    "parse_time",
    "remove_condition",
    "remove_finalizer",
    "roles",
    "seconds_asked_for",
    "secret_data",
    "set_condition",
    "timedelta_of",
    "wait_for_cache_sync",
    "with_controller",
    "with_owner",
    "without_owner",
]
