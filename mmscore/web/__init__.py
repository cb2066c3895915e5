"""HTTP: the one room that opens connections."""
