"""The diagnosis machine: what may follow what when a question about a fault is answered."""
