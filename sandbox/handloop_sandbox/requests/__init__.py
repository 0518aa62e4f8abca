"""
The stages that the requests of all verbs go through (routes, authorization, bodies, and the form of the
answer), and documents that are not objects (discovery, OpenAPI, health).
"""
