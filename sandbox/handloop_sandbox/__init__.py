"""
An in-memory Kubernetes API server with a simulated cluster, for kubectl, tests and exploration.

These are the subpackages. Each one imports only those above it:

    grammar   the text formats of the API: quantities, times, selectors and YAML (a link to handloop's code)
    wire      the API's terms: resources, names, queries, selectors, refusals; JSON, YAML, times as in Go
    storage   the versions of objects, a counter of versions, histories, transactions and watches
    kinds     the built-in kinds, read from generated tables; decodes and encodes objects as Go would
    cluster   the simulated cluster: namespaces, Deployments, pods, nodes, scheduler, garbage collector
    cel       CEL as in kube-apiserver: syntax, types, costs and values
    custom    custom resources: definitions, structural schemas and their rules
    patches   merge, JSON and strategic merge patches, server-side apply and managed fields
    tables    objects as table rows, for kubectl get
    rules     validation of built-in objects and of changes to them
    requests  the stages of every request: routes, authorization, bodies, presentation and discovery
    verbs     create, update, patch, delete, read and watch, and the subresources
    faults    failures on request, injected before the API and before a watch's client
    controls  requests about the sandbox itself: fixtures, ending Jobs, the clock, faults, a reset

The modules in this folder combine the subpackages. A request passes through these functions:

    http          HTTPServer._answer   reads the host, path and body of the request from a socket
    engine        Engine.handle        finds the request's sender (authenticator), and applies faults
    api           handle               finds the route, authorizes, and calls the function for the verb
    verbs         create, update, ...  decode, default and validate; collect the changes in a Transaction
    storage       Store.commit         adds the changes to the state and to the histories
    engine        Engine._commit       passes the changes to controllers (cluster), and schedules a pass
    http          HTTPServer._turn     runs one pass: the controllers, whose writes use the same functions
                                       (system_writes), and then the output of every open watch
                                       (storage.watches, faults.watch_output)

If a webhook converts custom objects, the request waits for it in a separate thread (aside), without the
lock, and is then carried out again from the start (conversion_work, converters).

`comparison` sends a folder of files to a sandbox and to another server, and reports which answers differ.

`api.handle` depends only on its arguments (state, request, context): the context supplies time, identity and
randomness. `transport` carries requests without sockets. Programs use `server.Sandbox`, and tests use
handloop.testing.running_sandbox.
"""
