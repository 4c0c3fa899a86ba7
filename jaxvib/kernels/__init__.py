"""Scalar JAX functions, compiled by LLVM for SIMD lanes."""

from typing import TYPE_CHECKING

from ..foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from .kernel import Kernel as Kernel
    from .kernel import kernel as kernel
    from .wasm import WebAssembly as WebAssembly
    from .wasm import web_assembly as web_assembly
else:
    export_lazily(__name__)
