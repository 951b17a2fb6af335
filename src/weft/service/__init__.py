"""The REST service, the page that it serves, and the client in Python.

`weft serve` starts it; `weft.service.app.create_app` returns the application for another server.
"""
