"""``miai web``: play any game against any agent in the browser; needs ``miai[web]``."""
