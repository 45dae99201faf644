"""Figures measured side by side; `make bench` writes them to BENCHMARKS.md."""
