"""Engines that value chess positions: the embedded one and any UCI engine, one protocol."""
