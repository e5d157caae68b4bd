"""The kind `implementation`: a function of tensors is compared with an fp64 reference on public and drawn cases.

`case` has the words in which a pack gives cases and slips; `spec` what a pack's data says; `planning` what to run;
`comparing` how far a result is from right; `names` what the source's names mean, `loops` how deep its loops go and
`rules` what it calls that it should not, by the words of `vocabulary`; `judging` the verdict; `worthless` the results
that no pack may give a point for.
"""

import torch

from grading.kinds.implementation.judging import judge
from grading.kinds.implementation.planning import plan, read
from grading.kinds.implementation.spec import Spec
from grading.kinds.implementation.worthless import unproved

__all__ = ["Spec", "judge", "plan", "read", "unproved"]

# References are small: on busy cores, threads that wait for each other made judging a hundred times slower.
torch.set_num_threads(1)
