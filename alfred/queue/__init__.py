"""Work that outlives a request: what waits in PostgreSQL, and who may do it."""
