"""The node that proposes a note of what a diagnosis found."""

from alfred.engine.node import node_entry
from alfred.nodes.incident_note.note import note_hooks

incident_note_node = node_entry("incident_note", note_hooks)

__all__ = ["incident_note_node"]
