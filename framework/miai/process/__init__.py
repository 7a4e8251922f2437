"""Child processes, worker pools, and agents in processes of their own."""
