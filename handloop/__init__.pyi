# The face of handloop, a name a line: for type checkers, and for __init__.py, which reads the homes from it.

from handloop.apis.conditions import Condition as Condition
from handloop.apis.conditions import find_condition as find_condition
from handloop.apis.conditions import is_condition_false as is_condition_false
from handloop.apis.conditions import is_condition_true as is_condition_true
from handloop.apis.conditions import remove_condition as remove_condition
from handloop.apis.conditions import set_condition as set_condition
from handloop.apis.crd import ANY_FIELDS as ANY_FIELDS
from handloop.apis.crd import LIST_ATOMIC as LIST_ATOMIC
from handloop.apis.crd import LIST_SET as LIST_SET
from handloop.apis.crd import PrinterColumn as PrinterColumn
from handloop.apis.crd import Rule as Rule
from handloop.apis.crd import Scale as Scale
from handloop.apis.crd import custom_resource_definition as custom_resource_definition
from handloop.apis.crd import list_map as list_map
from handloop.apis.duration_field import Duration as Duration
from handloop.apis.duration_field import timedelta_of as timedelta_of
from handloop.apis.evolve import evolve as evolve
from handloop.apis.grammar.labels import SelectorError as SelectorError
from handloop.apis.grammar.quantity import Amount as Amount
from handloop.apis.grammar.times import format_time as format_time
from handloop.apis.grammar.times import parse_time as parse_time
from handloop.apis.json_value import JSON as JSON
from handloop.apis.meta import EMPTY_MAP as EMPTY_MAP
from handloop.apis.meta import APIStruct as APIStruct
from handloop.apis.meta import FrozenMap as FrozenMap
from handloop.apis.meta import Kind as Kind
from handloop.apis.meta import MapOf as MapOf
from handloop.apis.meta import ObjectMeta as ObjectMeta
from handloop.apis.meta import controller_of as controller_of
from handloop.apis.meta import is_controlled_by as is_controlled_by
from handloop.apis.meta import new_controller_ref as new_controller_ref
from handloop.apis.resource import Resource as Resource
from handloop.apis.secret_data import secret_data as secret_data
from handloop.apis.unstructured import Unstructured as Unstructured
from handloop.apis.without import Abridged as Abridged
from handloop.apis.without import without as without
from handloop.client.config import load_config as load_config
from handloop.client.errors import AlreadyExists as AlreadyExists
from handloop.client.errors import APIError as APIError
from handloop.client.errors import ClientError as ClientError
from handloop.client.errors import ConfigError as ConfigError
from handloop.client.errors import Conflict as Conflict
from handloop.client.errors import Forbidden as Forbidden
from handloop.client.errors import Invalid as Invalid
from handloop.client.errors import NoKindMatch as NoKindMatch
from handloop.client.errors import NotFound as NotFound
from handloop.client.errors import TooManyRequests as TooManyRequests
from handloop.client.errors import TransportError as TransportError
from handloop.client.errors import seconds_asked_for as seconds_asked_for
from handloop.client.options import ListOptions as ListOptions
from handloop.client.resource_client import Client as Client
from handloop.client.resource_client import PatchType as PatchType
from handloop.client.transport import HTTPTransport as HTTPTransport
from handloop.controller.cli.main import main as main
from handloop.controller.runtime.builder import controller_for as controller_for
from handloop.controller.runtime.children.applied_fields import is_applied as is_applied
from handloop.controller.runtime.children.applied_fields import owned_fields as owned_fields
from handloop.controller.runtime.children.apply import apply as apply
from handloop.controller.runtime.children.finalizers import add_finalizer as add_finalizer
from handloop.controller.runtime.children.finalizers import has_finalizer as has_finalizer
from handloop.controller.runtime.children.finalizers import is_being_deleted as is_being_deleted
from handloop.controller.runtime.children.finalizers import remove_finalizer as remove_finalizer
from handloop.controller.runtime.children.owner_references import AlreadyOwnedError as AlreadyOwnedError
from handloop.controller.runtime.children.owner_references import NameTakenError as NameTakenError
from handloop.controller.runtime.children.owner_references import with_controller as with_controller
from handloop.controller.runtime.children.owner_references import with_owner as with_owner
from handloop.controller.runtime.children.owner_references import without_owner as without_owner
from handloop.controller.runtime.election.config import LeaderElectionConfig as LeaderElectionConfig
from handloop.controller.runtime.events.recorder import EVENT_TYPE_NORMAL as EVENT_TYPE_NORMAL
from handloop.controller.runtime.events.recorder import EVENT_TYPE_WARNING as EVENT_TYPE_WARNING
from handloop.controller.runtime.events.recorder import EventRecorder as EventRecorder
from handloop.controller.runtime.manager import Manager as Manager
from handloop.controller.runtime.rbac.access import Access as Access
from handloop.controller.runtime.rbac.roles import roles as roles
from handloop.controller.runtime.reconcile import DONE as DONE
from handloop.controller.runtime.reconcile import ReconcileError as ReconcileError
from handloop.controller.runtime.reconcile import Result as Result
from handloop.controller.runtime.reconcile import TerminalError as TerminalError
from handloop.controller.runtime.reconcile import WaitError as WaitError
from handloop.controller.runtime.reconciling.context import Context as Context
from handloop.controller.runtime.reconciling.controller import ControllerOptions as ControllerOptions
from handloop.controller.runtime.reconciling.reconciler import Reconciler as Reconciler
from handloop.controller.runtime.sources.predicates import AnnotationsChanged as AnnotationsChanged
from handloop.controller.runtime.sources.predicates import GenerationChanged as GenerationChanged
from handloop.controller.runtime.sources.predicates import LabelsChanged as LabelsChanged
from handloop.controller.runtime.sources.predicates import LabelsMatch as LabelsMatch
from handloop.controller.runtime.sources.predicates import PredicateFuncs as PredicateFuncs
from handloop.controller.runtime.sources.predicates import ResourceVersionChanged as ResourceVersionChanged
from handloop.controller.runtime.sources.predicates import all_of as all_of
from handloop.controller.runtime.sources.predicates import any_of as any_of
from handloop.controller.runtime.sources.predicates import negate as negate
from handloop.informers.factory import SharedInformerFactory as SharedInformerFactory
from handloop.informers.handlers import FilteringResourceEventHandler as FilteringResourceEventHandler
from handloop.informers.handlers import ResourceEventHandlerFuncs as ResourceEventHandlerFuncs
from handloop.informers.indexer import Indexer as Indexer
from handloop.informers.informer_options import InformerOptions as InformerOptions
from handloop.informers.keys import DeletedFinalStateUnknown as DeletedFinalStateUnknown
from handloop.informers.keys import NoMetaError as NoMetaError
from handloop.informers.keys import ObjectName as ObjectName
from handloop.informers.keys import (
    deletion_handling_meta_namespace_key_func as deletion_handling_meta_namespace_key_func,
)
from handloop.informers.keys import meta_namespace_key_func as meta_namespace_key_func
from handloop.informers.keys import object_name as object_name
from handloop.informers.lister import Lister as Lister
from handloop.informers.shared_informer import SharedIndexInformer as SharedIndexInformer
from handloop.informers.sync import wait_for_cache_sync as wait_for_cache_sync
from handloop.workqueue.queue import QueueOptions as QueueOptions
from handloop.workqueue.queue import ShutDown as ShutDown
from handloop.workqueue.rate_limiters import BucketRateLimiter as BucketRateLimiter
from handloop.workqueue.rate_limiters import (
    ItemExponentialFailureRateLimiter as ItemExponentialFailureRateLimiter,
)
from handloop.workqueue.rate_limiters import MaxOfRateLimiter as MaxOfRateLimiter
from handloop.workqueue.rate_limiters import RateLimiter as RateLimiter
from handloop.workqueue.rate_limiters import (
    default_controller_rate_limiter as default_controller_rate_limiter,
)
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue as RateLimitingQueue

__all__: tuple[str, ...]  # noqa: PYI035 - made of these lines
from handloop.apis.partial_metadata import PartialObjectMetadata as PartialObjectMetadata
from handloop.controller.runtime.sharding.shards import Shards as Shards
from handloop.controller.runtime.sources.external_source import Wake as Wake
from handloop.controller.runtime.sources.referred_objects import NotReferredError as NotReferredError
from handloop.informers.lister import NamespaceNotWatched as NamespaceNotWatched
from handloop.informers.selection import MetadataOnly as MetadataOnly
from handloop.informers.selection import OutsideSelection as OutsideSelection
from handloop.informers.selection import SeveralSelections as SeveralSelections
