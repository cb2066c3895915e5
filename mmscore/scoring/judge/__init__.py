"""A model as a scorer: its configuration, its prompt, its verdicts, and what several come to."""
