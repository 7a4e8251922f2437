"""Reports and replays as pages of HTML that need nothing but themselves."""
