"""The commands ``miai tournament``, ``miai rate`` and ``miai compare``."""
