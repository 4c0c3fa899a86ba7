"""Lowering of JAX's equations to LLVM IR."""
