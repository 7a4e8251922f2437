"""The commands ``miai tournament``, ``miai rate``, ``miai compare`` and ``miai exploit``."""
