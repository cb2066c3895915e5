"""Before the first request: which benchmark, data and samples, and what is wrong with them."""
