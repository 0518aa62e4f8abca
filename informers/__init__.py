"""How the cluster is mirrored: list and watch, delta FIFO, indexed store, handlers, listers."""

from handloop.informers.delta import Delta, Deltas, DeltaType
from handloop.informers.delta_fifo import DeltaFIFO, FIFOClosed
from handloop.informers.factory import GenericInformer, SharedInformerFactory, UnknownResource
from handloop.informers.handlers import (
    FilteringResourceEventHandler,
    ResourceEventHandler,
    ResourceEventHandlerDetailedFuncs,
    ResourceEventHandlerFuncs,
)
from handloop.informers.informer_errors import InformerError
from handloop.informers.informer_statistics import InformerStatistics
from handloop.informers.keys import (
    DeletedFinalStateUnknown,
    ObjectName,
    deletion_handling_meta_namespace_key_func,
    deletion_handling_object_to_name,
    final_state,
    meta_namespace_key_func,
    object_name,
    split_meta_namespace_key,
)
from handloop.informers.lister import Lister, NamespaceLister, NamespaceNotWatched
from handloop.informers.listwatch import ListerWatcher, ListWatch, Watch
from handloop.informers.metrics import MetricsProvider, set_provider
from handloop.informers.progress import SyncProgress
from handloop.informers.reflector import Reflector
from handloop.informers.registration import Registration
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.informers.store.indexer import NAMESPACE_INDEX, Indexer, namespace_index_func
from handloop.informers.store.thread_safe_store import ThreadSafeStore
from handloop.informers.sync import CacheSyncError, wait_for, wait_for_cache_sync, wait_for_named_cache_sync

__all__ = [
    "NAMESPACE_INDEX",
    "CacheSyncError",
    "DeletedFinalStateUnknown",
    "Delta",
    "DeltaFIFO",
    "DeltaType",
    "Deltas",
    "FIFOClosed",
    "FilteringResourceEventHandler",
    "GenericInformer",
    "Indexer",
    "InformerError",
    "InformerStatistics",
    "ListWatch",
    "Lister",
    "ListerWatcher",
    "MetricsProvider",
    "NamespaceLister",
    "NamespaceNotWatched",
    "ObjectName",
    "Reflector",
    "Registration",
    "ResourceEventHandler",
    "ResourceEventHandlerDetailedFuncs",
    "ResourceEventHandlerFuncs",
    "SharedIndexInformer",
    "SharedInformerFactory",
    "SyncProgress",
    "ThreadSafeStore",
    "UnknownResource",
    "Watch",
    "deletion_handling_meta_namespace_key_func",
    "deletion_handling_object_to_name",
    "final_state",
    "meta_namespace_key_func",
    "namespace_index_func",
    "object_name",
    "set_provider",
    "split_meta_namespace_key",
    "wait_for",
    "wait_for_cache_sync",
    "wait_for_named_cache_sync",
]
