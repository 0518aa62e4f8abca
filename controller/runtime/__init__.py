"""
The runtime for controllers, modelled on controller-runtime. It depends on no example or program.

    builder, controller_spec, assembly       declare a controller in a few words, and assemble it
    manager, lifetime, roster                start, run and stop a process's controllers
    process_services, servers                a process's connections and its pages
    reconcile                                the results and errors of a reconcile

    reconciling/  one controller: its workers, a reconcile's context, its reports, and its object's status
    sources/      turn watch events, referred objects and external sources into names in a queue
    caching/      a process's informers, for one or several namespaces, and waiting for them
    children/     the objects that a reconcile creates: apply, owners, finalizers, and what was last applied
    guards/       protection against stale caches, fights between writers, and mistakes that cause no error
    sharding/     several processes that divide the work into slots
    election/     the choice of the process that leads
    life/         runnables, signals, and the garbage collection of Python
    events/       Kubernetes Events, which tell users what happened
    metrics/      the Prometheus metrics
    rbac/         the declared access, and the roles generated from it
    serving/      the health and metrics pages
"""
