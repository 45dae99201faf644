"""Readers of the field's files."""
