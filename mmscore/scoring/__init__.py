"""What a reply is worth: answers read, metrics counted, judges asked."""
