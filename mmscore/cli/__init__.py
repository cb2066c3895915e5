"""The command line: flags in, words and exit codes out; the only room that prints."""
