"""A data set of life and death: positions with proved answers, split so that nothing leaks.

`sources` are problems, `growing` plays on from them, `making` writes shards, `dataset` reads them,
`splits` decides what is held out, `leaks` measures how near the rest is to it.
"""
