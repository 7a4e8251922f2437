"""Plugins: hook specifications, loader, registry and parameter models."""
