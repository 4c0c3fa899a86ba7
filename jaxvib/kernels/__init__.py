"""Scalar JAX functions, compiled by LLVM for SIMD lanes."""

from .kernel import Kernel as Kernel
from .kernel import kernel as kernel
from .wasm import WebAssembly as WebAssembly
from .wasm import web_assembly as web_assembly
