"""One request to one model: its body, its way there, and what came back."""
