"""What a tournament is: its config file, checked and resolved."""
