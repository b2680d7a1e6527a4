"""The way into the book: drafts from lessons, what resembles what, decisions made and filed. The gate alone judges them."""
