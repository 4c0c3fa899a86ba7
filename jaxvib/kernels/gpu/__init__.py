"""Programs for NVIDIA's GPUs, and their launches."""
