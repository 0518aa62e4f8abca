"""Chapter 6: the loop of a worker."""

from handloop.workqueue.queue import ShutDown


def work(queue, sync):
    while True:
        try:
            key = queue.get()
        except ShutDown:
            return
        try:
            sync(key)
        except Exception:
            queue.add_rate_limited(key)
        else:
            queue.forget(key)
        finally:
            queue.done(key)
