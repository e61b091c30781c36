"""Alfred says nothing without evidence and writes nothing without approval."""

__version__ = "0.1.0"
