"""Which modules the sandbox has, as data: a child is shown these, and an import of any other is left out of a slice."""

import sys

STANDARD = frozenset(sys.stdlib_module_names)
PACKAGES = ("numpy", "sympy", "torch", "tqdm", "transformers", "typing_extensions")
QUICK = STANDARD | {"numpy", "torch", "tqdm", "typing_extensions"}  # imported already, or at once
KNOWN = STANDARD | {*PACKAGES}

# What everybody writes, for code that is pasted without the notebook's first cell.
CUSTOMARY = {
    "F": "import torch.nn.functional as F",
    "functools": "import functools",
    "itertools": "import itertools",
    "math": "import math",
    "nn": "import torch.nn as nn",
    "np": "import numpy as np",
    "numpy": "import numpy",
    "torch": "import torch",
}


def is_known(module: str) -> bool:
    """Whether the sandbox has this module; "." stands for a relative import, which it never has."""
    return module.partition(".")[0] in KNOWN


def is_quick(module: str) -> bool:
    """Whether importing it costs nothing to speak of."""
    return module.partition(".")[0] in QUICK
