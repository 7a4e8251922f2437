"""Learning how hard positions are to prove, from the positions that searches meet.

`samples` draws zones and searches them, `learning` fits a `miai_go.tsumego.guiding.OrderingNet`.
"""
