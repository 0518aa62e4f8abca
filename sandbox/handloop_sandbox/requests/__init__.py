"""
The stages that requests go through whatever their verb (routes, authorization, bodies, and the form of the
answer), and the documents that are not objects (discovery, OpenAPI, health).
"""
