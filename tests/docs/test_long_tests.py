"""The list of long tests: what it is made from, and that all of it exists."""

from __future__ import annotations

from pathlib import Path

from tests.long import LIST, chosen, is_long, long_tests, unknown

ROOT = Path(__file__).parents[2]

DURATIONS = """
============================= slowest durations ==============================
12.50s setup    tests/docs/test_page.py::test_its_commands_run
6.10s call     tests/go/test_board.py::test_games[9-a b]
2.40s call     tests/go/test_board.py::test_games[5]
2.60s teardown tests/go/test_board.py::test_ends
3.00s call     tests/docs/test_page.py::test_its_table
4.90s setup    tests/web/test_click.py::test_one
0.50s setup    tests/web/test_click.py::test_two
1 passed in 30s
"""


def test_the_tests_of_the_list_exist() -> None:
    lines = LIST.read_text("utf-8").splitlines()
    assert lines == sorted(long_tests())
    assert not unknown(lines, ROOT)
    strangers = ["tests/docs/test_long_tests.py::test_gone[1]", "tests/docs/test_gone.py"]
    assert unknown(["tests/long.py", *strangers], ROOT) == strangers


def test_long_tests_are_chosen_by_their_durations() -> None:
    assert chosen(DURATIONS, seconds=2.5) == [
        "tests/docs/test_page.py",
        "tests/go/test_board.py::test_ends",
        "tests/go/test_board.py::test_games[9-a b]",
        "tests/web/test_click.py::test_one",
    ]


def test_a_line_is_a_test_or_a_file() -> None:
    lines = sorted(long_tests())
    file = next(line for line in lines if "::" not in line)
    test = next(line for line in lines if "::" in line)
    assert is_long(file + "::test_any[1]")
    assert is_long(test)
    assert not is_long(test + "x")
    assert not is_long(test.partition("::")[0] + "::test_gone")
