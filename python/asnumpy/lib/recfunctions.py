"""Functions of arrays of records, which live on the host: this module is NumPy's."""

import sys

from numpy.lib import recfunctions

sys.modules[__name__] = recfunctions
