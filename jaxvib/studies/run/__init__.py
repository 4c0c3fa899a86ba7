"""Running a study: from its config to its store, and what is said of it."""
