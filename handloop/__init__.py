"""
client-go's controller machinery, written by hand in Python. Exports all names that a controller's author needs.

    from handloop import Kind, Resource, controller_for, main

| to | names |
|---|---|
| describe a kind | Kind, APIStruct, FrozenMap, EMPTY_MAP, MapOf, JSON, ObjectMeta, Resource, Unstructured, PartialObjectMetadata, Rule, rules, Amount, DateTime, PrinterColumn, Scale, list_map, LIST_SET, LIST_ATOMIC, MAP_ATOMIC, ANY_FIELDS, SERVER_DEFAULT, NO_FORMAT, schema_format, property_counts, custom_resource_definition, same_fields |
| change an object | evolve |
| read and write times | parse_time, format_time, Duration, timedelta_of |
| reach a server | load_config, HTTPTransport, Client, ListOptions, PatchType |
| turn a setup into a program | main |
| assemble a controller | Manager, InformerOptions, Abridged, without, ControllerOptions, controller_for, Access, roles, LeaderElectionConfig, Shards |
| write a reconciler | Reconciler, Context, ObjectName, object_name, Result, DONE, ReconcileError, TerminalError, WaitError, NameTakenError |
| choose which events wake it | GenerationChanged, LabelsChanged, AnnotationsChanged, ResourceVersionChanged, LabelsMatch, PredicateFuncs, all_of, any_of, negate, Wake |
| write child objects | secret_data, apply, is_applied, owned_fields, with_controller, with_owner, without_owner, new_controller_ref, controller_of, is_controlled_by, AlreadyOwnedError |
| report conditions and events | Condition, ForeignCondition, set_condition, remove_condition, find_condition, is_condition_true, is_condition_false, EventRecorder, EVENT_TYPE_NORMAL, EVENT_TYPE_WARNING |
| clean up first | add_finalizer, remove_finalizer, has_finalizer, is_being_deleted |
| work without the runtime | SharedInformerFactory, SharedIndexInformer, ResourceEventHandlerFuncs, FilteringResourceEventHandler, DeletedFinalStateUnknown, Indexer, Lister, meta_namespace_key_func, deletion_handling_meta_namespace_key_func, NoMetaError, wait_for_cache_sync, RateLimitingQueue, QueueOptions, ShutDown, RateLimiter, default_controller_rate_limiter, ItemExponentialFailureRateLimiter, BucketRateLimiter, MaxOfRateLimiter |
| handle errors | ClientError, APIError, NotFound, NoKindMatch, AlreadyExists, Conflict, Forbidden, Invalid, TooManyRequests, TransportError, ConfigError, SelectorError, NamespaceNotWatched, OutsideSelection, SeveralSelections, MetadataOnly, NotReferredError, seconds_asked_for |

The library's parts are packages: `handloop.apis`, `handloop.client`, `handloop.workqueue`, `handloop.informers`,
`handloop.controller.runtime`, and `handloop_sandbox`, an API server to try things on (`pip install
handloop[sandbox]`). `handloop.controller.foo` is a controller without the runtime, `handloop.controller.myapp` one with it.

Importing handloop loads none of these names. Each one is imported when it is first used.
"""  # noqa: E501 - a table row is one line

import re
from importlib import import_module
from pathlib import Path

_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOME = {
    name: module
    for module, name in re.findall(r"^from \w+\.(\S+) import [(\s]*(\w+) as", _STUB, re.MULTILINE)
}

__all__ = tuple(sorted(_HOME))


def __getattr__(name: str) -> object:
    """Import a public name from its module on its first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    """Return the face, for completion."""
    return sorted({*globals(), *__all__})
