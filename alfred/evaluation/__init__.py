"""How well a node reads: cases with known answers, scores, stored runs and their differences."""
