"""
The runtime for controllers, modelled on controller-runtime. It does not depend on any example or program.

    builder, controller_spec, assembly       a controller put together from a few words
    manager, lifetime, roster                a process's controllers: started, stopped, and what they need
    process_services, servers                what a process has besides: connections and pages
    reconcile                                what a reconcile returns and raises

    reconciling/  one controller: its workers, what a reconcile gets, its reports, the status of its object
    sources/      from watch events, referred objects and news of elsewhere to the names in a queue
    caching/      the informers of a process, one kind in several namespaces, and waiting for them
    children/     what a reconcile makes: applied, owned, finalized, and what was applied last
    guards/       against old caches, fights and mistakes that fail nothing
    sharding/     one of several processes that share the work by slots
    election/     which process leads
    life/         what a manager runs, signals, memory
    events/       Events, written for people
    metrics/      what is measured
    rbac/         declared access, and roles
    serving/      health and metrics pages
"""
