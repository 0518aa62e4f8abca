"""Chapter 13: a bucket for each Foo, and none for a deleted Foo."""

from handloop import add_finalizer, has_finalizer, is_being_deleted, remove_finalizer
from handloop_learn.ex13_finalizers import NoBucketError

FINALIZER = "example.org/bucket"


def sync(foo, foos, cloud):
    if is_being_deleted(foo):
        if has_finalizer(foo, FINALIZER):
            try:
                cloud.delete(foo.metadata.uid)
            except NoBucketError:
                pass
            remove_finalizer(foos, foo, FINALIZER)
        return
    add_finalizer(foos, foo, FINALIZER)
    cloud.create(foo.metadata.uid)
