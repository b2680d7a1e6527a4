"""The index: immutable generations of what the gate admits, and the switch between them."""
