"""What a player knows: the set of all possible boards, its memory limit, and scans."""
