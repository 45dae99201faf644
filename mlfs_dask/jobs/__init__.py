"""Job files, the coordinator, run folders."""
