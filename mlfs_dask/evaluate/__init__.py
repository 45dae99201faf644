"""Splits, metrics and the protocol that judges selectors."""
