"""The folder of a study: nothing written is lost, nothing read is trusted."""
