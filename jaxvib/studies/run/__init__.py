"""Running a study: from its config to its store, with progress and summaries."""
