"""Reading a book: a plain folder or a Git revision, its entries, policy and vocabulary. Knows nothing of trust."""
