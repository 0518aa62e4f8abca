"""
The stages of every request, for any verb: routes, authorization, bodies, the form of the answer; and
the documents that are not objects (discovery, OpenAPI, health).
"""
