"""LLVM IR: its instructions, and functions of numbers in it."""
