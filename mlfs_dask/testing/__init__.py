"""Simulated data and hypothesis strategies for our tests and for authors of plug-ins."""
