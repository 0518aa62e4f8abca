"""
The runtime for controllers, as controller-runtime has it. It knows no example and no program.

    manager, builder, runnable                        a process's controllers: put together, started, stopped
    controller, reconcile, reconcile_queue, outcomes  one controller: its workers, contract, queue, log
    kind_source, predicates                           from watch events to names
    caches, kind_informer                             the informers of a process
    own_writes, owner_recheck, damper                 guards against old caches and fights
    apply, owner_references, finalizers               helpers for reconcilers
    collector                                         fewer runs of Python's cycle collector

    election/  which process leads            metrics/  what is measured
    events/    Events, written for people     serving/  health and metrics pages
    rbac/      declared access, and roles
"""
