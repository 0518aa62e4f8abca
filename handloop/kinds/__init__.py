"""
The built-in kinds, complete: every field of Kubernetes 1.36, frozen, with its wire name.

    from handloop.kinds.core_v1 import ConfigMap, Pod

A module is loaded when it is imported, and not before. The modules are made from a server's own description.
`handloop.apis` has smaller views of a few of these kinds: they take less memory and time in a cache.
"""
