"""
The stages that all requests pass through (routing, authorization, decoding the body, encoding the answer),
and the documents that are not objects (discovery, OpenAPI, health).
"""
