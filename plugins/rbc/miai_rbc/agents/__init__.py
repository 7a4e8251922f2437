"""The agents of Reconnaissance Blind Chess and how they choose moves."""
