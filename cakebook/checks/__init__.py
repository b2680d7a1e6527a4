"""Running the check blocks of entries: a sandbox of two kinds and the runner that reports one result per block."""
