"""Values of a Foo's and a MyApp's spec that no server should take, and that do no harm where one has."""

from __future__ import annotations

from typing import Any, Final

from handloop.apis.meta import Kind
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp

REPLICAS: Final = (0, -1, 2**31, 2**63, 1.5, "3", True)
BAD: Final[dict[type[Kind], dict[str, tuple[Any, ...]]]] = {
    Foo: {"replicas": (*REPLICAS, 11), "deploymentName": (7, ["a"])},
    MyApp: {
        "replicas": (*REPLICAS, 101),
        "image": ("", " ", "x" * 10_000, 7),
        "port": (0, 65_536, "http"),
        "serviceType": ("ExternalName", ""),
        "autoScaling": (
            {"enabled": True, "minReplicas": 5, "maxReplicas": 3},
            {"enabled": True, "minReplicas": 0, "maxReplicas": 3},
            {"enabled": True, "maxReplicas": 0},
            {"enabled": True},
            "on",
        ),
        "env": ([{"name": "A"}, {"name": "A"}], [{"name": "A=B"}], "A"),
        "resources": ({"limits": {"cpu": "much"}}, {"requests": {"memory": "-1"}}),
    },
}
SPECS: Final[tuple[Any, ...]] = ("words", [], 7, True)
"""In place of a whole spec."""
