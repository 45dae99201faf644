"""Data files in, Zarr stores out and back."""
