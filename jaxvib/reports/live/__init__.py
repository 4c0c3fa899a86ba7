"""Pages that compute the motions of a system, by its kernels as WebAssembly modules."""
