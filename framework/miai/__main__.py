"""``python -m miai`` is the command ``miai``."""

from miai.cli.main import main

main()
