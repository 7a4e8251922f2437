"""Makes docs/benchmarks.md and docs/quality.md from `benchmarks/results`: ``make format``.

python benchmarks/pages.py            write them
python benchmarks/pages.py --check    fail if they are not what would be written: ``make check``
"""

import argparse
import sys

from common.evidence import pages, write_pages


def main() -> None:
    """Write or check the pages."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="Write nothing, but compare")
    if not parser.parse_args().check:
        write_pages()
        return
    stale = [path for path, text in pages().items() if path.read_text("utf-8") != text]
    for path in stale:
        print(f"{path}: rows or their marks have changed; run `make format`", file=sys.stderr)
    sys.exit(bool(stale))


if __name__ == "__main__":
    main()
