"""The command line, `sr-assets`."""
