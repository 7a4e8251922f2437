"""A small GTP engine that behaves, or misbehaves in one chosen way at one chosen command.

Run with ``python -S -E``: nothing but the standard library, started in a hundredth of a second.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable

BASIC = "protocol_version name version list_commands quit boardsize clear_board komi play genmove"


class Engine:
    """Answers from what its arguments say; it has no board."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.moves = options.moves.split(",")
        self.known = BASIC.split() + options.knows.split(",")
        self.known = [name for name in self.known if name not in options.lacks.split(",")]

    def answer(self, command: str, arguments: list[str]) -> str:
        """Return the response without its identity number and newlines."""
        if command in self.options.refuse.split(","):
            return "? not today"
        results: dict[str, Callable[[], str]] = {
            "protocol_version": lambda: self.options.protocol,
            "name": lambda: "Test Engine",
            "version": lambda: "1.5",
            "list_commands": lambda: "\n".join(self.known),
            "genmove": lambda: self.moves.pop(0) if self.moves else "pass",
            "final_status_list": lambda: self.options.dead.replace(",", "\n"),
            "fixed_handicap": lambda: self.options.handicap.replace(",", " "),
        }
        results["kgs-genmove_cleanup"] = results["genmove"]
        if command not in self.known:
            return "? unknown command"
        return f"= {results.get(command, lambda: '')()}".rstrip()


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def reply(number: str, answer: str) -> None:
    write(f"{answer[0]}{number}{answer[1:]}\n\n")


def burn(seconds: float) -> None:
    """Use CPU time."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def sleep_forever() -> None:
    while True:
        time.sleep(60)


def fork_sleeper() -> None:
    if os.fork() == 0:
        ignore_signals()
        sleep_forever()


def die(_: str) -> None:
    sys.stderr.write("first line\nout of luck\n")
    sys.stderr.flush()
    os._exit(3)


def crash(_: str) -> None:
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGSEGV)


def hang(_: str) -> None:
    sys.stderr.write("thinking\n")
    sys.stderr.flush()
    sleep_forever()


def hang_stubbornly(_: str) -> None:
    ignore_signals()
    fork_sleeper()
    sleep_forever()


def leave_child(_: str) -> None:
    fork_sleeper()
    os._exit(4)


def flood_output(number: str) -> None:
    write(f"={number} ")
    while True:
        write("x" * 99 + "\n")


def flood_line(_: str) -> None:
    while True:
        write("x" * 4096)


def flood_unasked(_: str) -> None:
    while True:
        write("# nothing to say, and much of it\n")


def flood_errors(_: str) -> None:
    while True:
        sys.stderr.write("y" * 99 + "\n")


def chatter(number: str) -> None:
    """Fill standard error far beyond a pipe's room before the answer."""
    sys.stderr.write(("z" * 99 + "\n") * 20_000)
    sys.stderr.flush()
    reply(number, "= D4")


def talk_nonsense(_: str) -> None:
    write("What would you like to do?\n\n")


def answer_another(number: str) -> None:
    reply(str(int(number or "0") + 1), "= D4")


def answer_twice(number: str) -> None:
    reply(number, "= D4")
    reply(number, "= E5")


def close_output(_: str) -> None:
    os.close(1)
    sleep_forever()


def write_bytes(number: str) -> None:
    sys.stdout.buffer.write(b"\r\n# caf\xff\xc3\xa9\r\n=" + number.encode() + b"\t\x07d4\t\r\n\r\n")
    sys.stdout.flush()


def answer_and_die(number: str) -> None:
    reply(number, "= D4")
    os._exit(5)


def answer_and_close_input(number: str) -> None:
    os.close(0)
    reply(number, "= D4")
    sleep_forever()


def burn_and_answer(number: str) -> None:
    child = os.fork()
    if child == 0:
        burn(0.15)
        os._exit(0)
    burn(0.15)
    os.waitpid(child, 0)
    reply(number, "= D4")


MODES: dict[str, Callable[[str], None]] = {
    "die": die,
    "crash": crash,
    "hang": hang,
    "hang-stubbornly": hang_stubbornly,
    "leave-child": leave_child,
    "flood-output": flood_output,
    "flood-line": flood_line,
    "flood-unasked": flood_unasked,
    "flood-errors": flood_errors,
    "chatter": chatter,
    "nonsense": talk_nonsense,
    "another-id": answer_another,
    "twice": answer_twice,
    "close-output": close_output,
    "bytes": write_bytes,
    "answer-and-die": answer_and_die,
    "answer-and-close-input": answer_and_close_input,
    "burn": burn_and_answer,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--at", default="genmove", help="command at which the mode sets in")
    parser.add_argument("--moves", default="D4,E5")
    parser.add_argument("--knows", default="")
    parser.add_argument("--lacks", default="")
    parser.add_argument("--refuse", default="")
    parser.add_argument("--dead", default="")
    parser.add_argument("--handicap", default="")
    parser.add_argument("--protocol", default="2")
    parser.add_argument("--no-ids", action="store_true", help="do not understand them")
    parser.add_argument("--stubborn", action="store_true", help="survive quit, EOF and SIGTERM")
    parser.add_argument("--note", help="ignored; a place for {seed}")
    options = parser.parse_args()
    if options.at == "start":
        MODES[options.mode]("")
    if options.stubborn:
        ignore_signals()
        fork_sleeper()
    engine = Engine(options)
    for line in sys.stdin:
        words = line.split("#")[0].split()
        if not words:
            continue
        number = words.pop(0) if words[0].isdigit() and not options.no_ids else ""
        command, *arguments = words
        if options.mode and command == options.at:
            MODES[options.mode](number)
            continue
        reply(number, engine.answer(command, arguments))
        if command == "quit" and not options.stubborn:
            return
    if options.stubborn:
        sleep_forever()


if __name__ == "__main__":
    main()
