"""The gate: what may be served. `verdict` is pure and the only judge; `facts` is the only reader of trust files."""
