"""
The runtime for controllers, modelled on controller-runtime. It depends on no example or program.

    builder, controller_spec, assembly       a controller declared in a few words, and put together
    manager, lifetime, roster                a process's controllers: started, stopped, and what they need
    process_services, servers                what a process also has: connections and pages
    reconcile                                what a reconcile returns and raises

    reconciling/  one controller: its workers, what a reconcile gets, its reports, its object's status
    sources/      from watch events, referred objects and outside sources to the names in a queue
    caching/      the informers of a process, for one or several namespaces, and how to wait for them
    children/     the objects that a reconcile creates: apply, owners, finalizers, and what was applied last
    guards/       protection against stale caches, fights between writers, and mistakes that cause no error
    sharding/     several processes that share the work by slots
    election/     the choice of the process that leads
    life/         what a manager runs, signals, garbage collection
    events/       Events, written for people
    metrics/      what is measured
    rbac/         declared access, and roles
    serving/      the health and metrics pages
"""
