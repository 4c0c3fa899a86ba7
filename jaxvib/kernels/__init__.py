"""Scalar JAX functions, compiled by LLVM for SIMD lanes."""

from typing import TYPE_CHECKING

from ..foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from .calls.kernel import Kernel as Kernel
    from .calls.kernel import kernel as kernel
    from .export.wasm import WebAssembly as WebAssembly
    from .export.wasm import web_assembly as web_assembly
else:
    export_lazily(__name__)
