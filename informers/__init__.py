"""How the cluster is mirrored: list and watch, delta FIFO, indexed store, handlers, listers."""

from informers.delta import Delta, Deltas, DeltaType
from informers.delta_fifo import DeltaFIFO, FIFOClosed
from informers.factory import GenericInformer, SharedInformerFactory, UnknownResource
from informers.handlers import (
    FilteringResourceEventHandler,
    ResourceEventHandler,
    ResourceEventHandlerDetailedFuncs,
    ResourceEventHandlerFuncs,
)
from informers.informer_errors import InformerError
from informers.informer_statistics import InformerStatistics
from informers.keys import (
    DeletedFinalStateUnknown,
    ObjectName,
    deletion_handling_meta_namespace_key_func,
    deletion_handling_object_to_name,
    final_state,
    meta_namespace_key_func,
    object_name,
    split_meta_namespace_key,
)
from informers.lister import Lister, NamespaceLister
from informers.listwatch import ListerWatcher, ListWatch, Watch
from informers.metrics import MetricsProvider, set_provider
from informers.progress import SyncProgress
from informers.reflector import Reflector
from informers.registration import Registration
from informers.shared_informer import SharedIndexInformer
from informers.store.indexer import NAMESPACE_INDEX, Indexer, namespace_index_func
from informers.store.thread_safe_store import ThreadSafeStore
from informers.sync import CacheSyncError, wait_for, wait_for_cache_sync, wait_for_named_cache_sync

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
