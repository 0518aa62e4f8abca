"""
The runtime for controllers, as controller-runtime has it. It knows no example and no program.

    manager, lifetime, runnable, signals     a process's controllers: started, stopped
    roster                                   what these are, and what they need
    replica, slot_work, sharded_kinds        one of several processes that share the work by slots
    narrowing                                who keeps the objects of the others away
    builder, controller_spec, assembly       a controller put together from a few words
    process_services, servers, collector     what a process has besides: connections, pages, memory
    controller, reconcile_queue, reporting   one controller: its workers, its queue, its reports
    reconcile, reconciler, context           what an author writes, gets and returns
    informer_source, predicates              from watch events to names
    external_source                          from news of elsewhere to names
    caches, cache_wait                       the informers of a process, and waiting for them
    multi_namespace_informer                 those of one kind, seen as one
    controller_caches, referred_objects      those of them that one controller reads
    namespace_fence                          no write into a namespace that is watched no longer
    own_writes, owner_recheck                guards against old caches
    repeat_backoff, hot_loops                guards against fights
    stalled                                  the condition of an object whose reconcile gave up
    reconcile_writes, applied_fields         the writes of a reconcile: counted, and remembered
    apply, owner_references, finalizers      helpers for reconcilers

    election/  which process leads            metrics/  what is measured
    events/    Events, written for people     serving/  health and metrics pages
    rbac/      declared access, and roles
"""
