"""
What every request goes through, whatever its verb: routes, authorization, bodies, the form of the answer; and
the documents that are no objects (discovery, OpenAPI, health).
"""
