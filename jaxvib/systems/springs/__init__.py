"""Nonlinear springs and dampers between degrees of freedom."""

from typing import TYPE_CHECKING

from ...foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from ..base.law import SpringLaw as SpringLaw
    from .laws import FunctionLaw as FunctionLaw
    from .laws import PiecewiseLinearLaw as PiecewiseLinearLaw
    from .laws import PolynomialDamperLaw as PolynomialDamperLaw
    from .laws import PolynomialLaw as PolynomialLaw
    from .laws import formula_law as formula_law
    from .spring import NonlinearSpring as NonlinearSpring
else:
    export_lazily(__name__)
