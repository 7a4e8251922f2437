"""What one sees while a run goes on."""
