"""Reading, checking and writing SGF."""
