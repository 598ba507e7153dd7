"""Turn-taking: when the caller is done, goes on, listens, or wants the floor."""
