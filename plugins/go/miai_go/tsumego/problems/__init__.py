"""Problems made by the program: families that players know, and random walled fights."""
