"""
A stand-in for a Kubernetes API server: in memory, with a simulated cluster, for kubectl, tests and looking
around.

The parts, in their order. A part imports only parts above it:

    wire      the words of the API: resources, names, queries, selectors, refusals, Go's spelling of JSON,
    YAML, times storage   versions of objects, one counter, histories, transactions, watches kinds     the
    built-in kinds from generated tables, and objects as Go would decode and encode them cluster   what lives
    in a cluster: namespaces, Deployments, pods, nodes, scheduler, autoscalers, garbage collector custom
    custom resources: definitions, structural schemas, CEL patches   merge, JSON and strategic patches,
    server-side apply, managed fields tables    objects as rows, for kubectl get rules     what objects of
    built-in kinds may look like, and what of them may change requests  what every request goes through:
    routes, authorization, bodies, presentation, discovery verbs     create, update, patch, delete, read,
    watch, and the subresources faults    what goes wrong on command, around a core that knows nothing of it

The modules beside the parts make one machine of them. The way of a request:

    http          HTTPServer._answer      host, path and body of a request on a socket engine
    Engine.handle           one at a time: who sends it (authenticator), what a fault does to it (faults) api
    handle                  route, authorization, then the function that carries it out verbs         create,
    update, ...     decode, default, validate; the changes go into a Transaction storage       Store.commit
    changes become part of the state and of the histories engine        Engine._commit          controllers
    (cluster) get the changes, and a pass of the loop is scheduled http          HTTPServer._turn        steps
    controllers, whose writes take the same way (system_writes), and sends
                                          every open watch (storage.watches, faults.outlet) its lines

`api.handle` is a function of (state, request, context): time, identity and chance come from outside.
`transport` is the same way without sockets. `server.Sandbox` is the face for programs, and
handloop.testing.running_sandbox the one for tests.
"""
