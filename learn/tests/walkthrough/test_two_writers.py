from __future__ import annotations

from handloop_learn.stage import Stage
from handloop_learn.two_writers import OF_FOO, OF_SERVICE, ways_to_write


def test_an_apply_leaves_the_other_writers_field() -> None:
    """An update is refused, or erases it. Without a version a Service is updated, and a Foo is not."""
    with Stage(lifelike=False) as stage:
        of_service, of_foo = ([way[1:] for way in ways_to_write(stage, of)] for of in (OF_SERVICE, OF_FOO))
    assert of_service == [("409 Conflict", "kept"), ("accepted", "lost"), ("accepted", "kept")]
    assert of_foo == [("409 Conflict", "kept"), ("422 Invalid", "kept"), ("accepted", "kept")]
