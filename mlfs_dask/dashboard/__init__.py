"""The dashboard: runs as pages and JSON, served by a Dask scheduler at ``/mlfs``.

It looks and never touches: requests are read-only, and no path is ever made of what they say.
"""
