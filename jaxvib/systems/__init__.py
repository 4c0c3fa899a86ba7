"""What is studied: elements and laws, assembly, and the families of systems."""

from .assembly import Assembled as Assembled
from .assembly import assemble as assemble
from .contact import HertzContact as HertzContact
from .contact import LinearContact as LinearContact
from .impact import AppliedLoad as AppliedLoad
from .impact import Body as Body
from .impact import Contact as Contact
from .impact import ImpactSystem as ImpactSystem
from .impact import LinearSystem as LinearSystem
from .impact import TwoBodyImpact as TwoBodyImpact
from .impact import two_body_impact as two_body_impact
from .load import HarmonicLoad as HarmonicLoad
from .modules import TranslationRotation as TranslationRotation
from .modules import TranslationTranslation as TranslationTranslation
from .parameters import parameters as parameters
from .parameters import replace as replace
