"""Images, sounds and clips: where they lie, what they are, how they are sent."""
