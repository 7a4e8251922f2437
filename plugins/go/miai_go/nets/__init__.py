"""Networks and their inputs: encoders, layers, weights files and inference."""
