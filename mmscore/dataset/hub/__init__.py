"""Data from where they live: local folders, hubs, URLs, archives read by ranges, and the cache."""
