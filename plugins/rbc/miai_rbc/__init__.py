"""Reconnaissance Blind Chess for miai: rules, exact beliefs, scans, engines, agents."""
