"""Networks at work: batches of planes in, logits and values out, in this process or another."""
