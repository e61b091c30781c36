"""What Alfred answers over HTTP."""
