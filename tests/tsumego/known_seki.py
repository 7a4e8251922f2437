"""Positions that every player knows: seki of several kinds, and what only looks like one."""

SEKI = {
    "two shared liberties, no eyes": """
        X X X X X X
        T O O O O X
        X X X . O X
        X . O O O X
        X O O O O X
    """,
    "an eye each and a shared liberty": """
        X X X X X X X
        T O O O O O X
        X X . O O O X
        . X O O . O X
        X X O O O O X
    """,
    "three stones in a row of five, at the edge": """
        X X X X X X X
        T O O O O O X
        . X X X . O X
    """,
    "four stones in a row of six": """
        X X X X X X X X
        T O O O O O O X
        . X X X X . O X
    """,
}

TWO_EYES = {
    "two points at the edge": """
        X X X X X
        T O O O X
        . O . O X
    """,
    "a dead stone in a straight five": """
        X X X X X X X
        T O O O O O X
        . . X . . O X
    """,
}

TAKEN = {
    "two stones in a straight four": """
        X X X X X X
        T O O O O X
        . X X . O X
    """,
    "a square four": """
        X X X X X
        T O O O X
        . . O O X
        . . O O X
    """,
}

BENT_FOUR_IN_THE_CORNER = """
    X X X X X X
    T O X X X X
    . O O O O X
    X X X . O X
"""

EYE_AND_KO = """
    X X X X X X
    T O X X X X
    . O . X X X
    O O X O X X
"""

DOUBLE_KO = """
    X X X X X X X X X X X
    X X . X X X X X O X X
    X O X O O O O O . O X
    X O O . T . O . O O X
"""

RACE = """
    X X X X X X X
    T O O O O . X
    X X X X O X X
    . X X . O . X
"""

FOUR_IN_SIX_AND_A_LIBERTY = """
    X X X X X X X X X
    X X X . X X X X X
    T O O O O O O X X
    . X X X X . O X X
"""
