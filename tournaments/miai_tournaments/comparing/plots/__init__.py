"""Plots of a comparison, drawn by matplotlib, which the extra ``miai[plots]`` brings."""
