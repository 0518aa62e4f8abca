"""
The stages that requests of all verbs go through (routes, authorization, bodies, the form of the answer), and
the documents that are not objects (discovery, OpenAPI, health).
"""
