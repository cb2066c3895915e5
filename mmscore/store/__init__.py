"""A run's folder: its records, and nothing that a report makes of them."""
