"""Chapter 16: your own controller. All of it is ours here: the solutions of the exercises before."""

PIECES = {
    "reflector": "exercise_02_reflector.py",
    "process": "exercise_03_delta_fifo.py",
    "index": "exercise_04_indexer.py",
    "work": "exercise_06_workqueue.py",
    "back-off": "exercise_07_backoff.py",
    "sync": "exercise_08_sync_handler.py",
}
