"""
Check ConfigMaps with a handwritten controller: an informer adds names to a queue, and workers process them.

    informer --add, update, delete--> names --> queue <--> workers --> check --> print
                                                  ^___ again, later ___|

Follows: client-go examples/workqueue @32ce75a7d. Differs: the check can fail, and a stop waits for the
workers.
"""

from __future__ import annotations

import json
import threading

from handloop import (
    Access,
    DeletedFinalStateUnknown,
    Manager,
    QueueOptions,
    RateLimitingQueue,
    ResourceEventHandlerFuncs,
    ShutDown,
    default_controller_rate_limiter,
    meta_namespace_key_func,
    wait_for_cache_sync,
)
from handloop.kinds.core_v1 import ConfigMap

MOST_RETRIES = 5


class Controller:
    """
    Prints the ConfigMaps whose `.json` values are valid JSON. Retries the others a few times.

    Threads: handlers run on the informer's thread, and checks on `plain-<i>`. The queue delivers a key to
    only one worker at a time.
    """

    name = "plain"

    def __init__(self, manager: Manager) -> None:
        """Request the informer, which the manager starts and stops."""
        self._config_maps = manager.informer_for(ConfigMap)
        self._workers = manager.controller_options.max_concurrent_reconciles
        self._queue: RateLimitingQueue[str] = RateLimitingQueue(
            default_controller_rate_limiter(),
            QueueOptions(name=self.name, metrics_provider=manager.workqueue_metrics),
        )

    def run(self, stop: threading.Event) -> None:
        """Work until stop is set, and then let the workers finish."""
        handler = ResourceEventHandlerFuncs(
            add_func=self._enqueue, update_func=self._updated, delete_func=self._enqueue
        )
        handled = self._config_maps.add_event_handler(handler)
        threads = [threading.Thread(target=self._work, name=f"plain-{i}") for i in range(self._workers)]
        if wait_for_cache_sync(stop, handled.has_synced):
            for thread in threads:
                thread.start()
            stop.wait()
        self._queue.shut_down()
        for thread in filter(threading.Thread.is_alive, threads):
            thread.join()

    def _updated(self, old: ConfigMap, new: ConfigMap) -> None:
        """Ignore resyncs. They would enqueue keys again that have used up their retries."""
        if new.metadata.resource_version != old.metadata.resource_version:
            self._enqueue(new)

    def _enqueue(self, config_map: ConfigMap | DeletedFinalStateUnknown[ConfigMap]) -> None:
        """Add the key. The type of change does not matter, because a worker reads the cached object."""
        if isinstance(config_map, DeletedFinalStateUnknown):
            self._queue.add(config_map.key)
        else:
            self._queue.add(meta_namespace_key_func(config_map))

    def _work(self) -> None:
        while True:
            try:
                key = self._queue.get()
            except ShutDown:
                return
            try:
                self._check(key)
            except Exception as error:  # noqa: BLE001 - the worker continues, whatever a check raises
                self._retry(key, error)
            else:
                self._queue.forget(key)
            finally:
                self._queue.done(key)

    def _retry(self, key: str, error: Exception) -> None:
        """Retry a key, after a longer wait each time. After five retries, forget it until its next change."""
        if self._queue.num_requeues(key) < MOST_RETRIES:
            self._queue.add_rate_limited(key)
            return
        self._queue.forget(key)
        print(f"{key}: given up after {MOST_RETRIES} retries: {error}", flush=True)

    def _check(self, key: str) -> None:
        """Print a ConfigMap. Raises: ValueError if a `.json` value is not valid JSON."""
        config_map = self._config_maps.get_by_key(key)
        if config_map is None:
            print(f"{key} is gone", flush=True)
            return
        for name, text in config_map.data.items():
            if name.endswith(".json"):
                json.loads(text)
        print(f"{key}: {', '.join(sorted(config_map.data)) or 'empty'}", flush=True)


def set_up(manager: Manager) -> None:
    """Add the controller, and declare what it reads so that its roles can be generated."""
    manager.declare(Access(resource=ConfigMap.resource, verbs=("list", "watch")))
    manager.add(Controller(manager))
