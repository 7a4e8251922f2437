"""Pages of HTML: documents, recorded games and their charts, on disk or from a server."""
