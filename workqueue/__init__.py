"""When a key is worked on: queues, rate limiters, orders, and the seams for time, locks and threads."""

from handloop.workqueue.stdlib_logs import log_to_stdlib

log_to_stdlib()
