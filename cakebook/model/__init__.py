"""The shapes: what an entry, a verdict, a query and a pack are. No I/O, no policy.

Two families live side by side. Shapes read from files (`entry`, `evidence`, `vocabulary`, `review`) are pydantic models,
because what comes from outside must be validated. Shapes that a search builds itself (`query`, `pack`, `terms`) are
standard dataclasses: building pydantic classes costs more than a whole lexical search, and nothing there needs
validation. Both are exported as JSON Schema to `book/schema/`.
"""
