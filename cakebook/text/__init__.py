"""Reading text: front matter with positions, Markdown with positions, tokens, versions. Pure functions."""
