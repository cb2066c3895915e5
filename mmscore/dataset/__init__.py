"""Where data are and what is in them: folders, archives, hubs, rows, media."""
