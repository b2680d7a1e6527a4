"""From a question to cited answers: understanding, filters, ranking, packs. Reads generations, never trust files."""
