"""All examples in one program with one Manager: `python -m examples.all_in_one --help`."""  # noqa: INP001 - one file, and nothing to copy

from handloop import main

from .appcluster.reconciler import set_up as appcluster
from .memcached.reconciler import set_up as memcached
from .plain.controller import set_up as plain
from .sample.controller import set_up as sample

if __name__ == "__main__":
    main((sample, plain, appcluster, memcached), name="all-in-one", version="0.1.0")
