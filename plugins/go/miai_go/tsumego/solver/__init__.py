"""Proofs: the prover, the solver that combines its answers, proof trees, answer keys, reports."""
