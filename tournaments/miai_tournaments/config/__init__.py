"""The config file of a tournament, checked and resolved."""
