"""
An in-memory stand-in for a Kubernetes API server with a simulated cluster, for kubectl, tests and exploring.

The parts, in order. Each part imports only parts above it:

    grammar the text formats of the API: quantities, times, selectors, YAML; shared with handloop by a link
    wire terms of the API: resources, names, queries, selectors, refusals, JSON, YAML and times as in Go
    storage versions of objects, one counter, histories, transactions, watches
    kinds     the built-in kinds from generated tables, and objects as Go would decode and encode them
    cluster   the simulated cluster: namespaces, Deployments, pods, nodes, scheduler, garbage collector
    cel       CEL as in kube-apiserver: syntax, types, costs, values
    custom    custom resources: definitions, structural schemas, their rules
    patches   merge, JSON and strategic patches, server-side apply, managed fields
    tables    objects as rows, for kubectl get
    rules validation of built-in objects, and of changes to them
    requests  the stages of every request: routes, authorization, bodies, presentation, discovery
    verbs     create, update, patch, delete, read, watch, and the subresources
    faults    failures on command, around a core that does not know of them
    controls  requests about the sandbox itself: fixtures, ending Jobs, the clock, faults, a reset

The modules next to the parts combine them. The path of a request:

    http          HTTPServer._answer   host, path and body of a request on a socket
    engine        Engine.handle        one at a time: its sender (authenticator), its fault (faults)
    api           handle               route, authorization, then the function that carries it out
    verbs         create, update, ...  decode, default, validate; the changes go into a Transaction
    storage       Store.commit         the changes become part of the state and of the histories
    engine        Engine._commit       controllers (cluster) get the changes; a pass of the loop is scheduled
    http          HTTPServer._turn     runs controllers, whose writes take the same path (system_writes), and
                                       sends every open watch (storage.watches, faults.watch_output) its lines

If a webhook converts custom objects, a request waits for it without the lock, in a separate thread (aside),
and is then carried out again from the start (conversion_work, converters).

`comparison` sends a folder of files to a sandbox and to another server, and reports which answers differ.

`api.handle` is a function of (state, request, context): time, identity and randomness come from outside.
`transport` is the same path without sockets. `server.Sandbox` is the interface for programs, and
handloop.testing.running_sandbox the one for tests.
"""
