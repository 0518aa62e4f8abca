"""Chapter 9: add replicas to a Foo, while others write it."""

from handloop import Conflict, evolve


def add_replicas(foos, foo, number):
    for tries in range(1, 6):
        try:
            return foos.update(evolve(foo, "spec.replicas", foo.spec.replicas + number))
        except Conflict:
            if tries == 5:
                raise
        foo = foos.get("foo", namespace="default")
