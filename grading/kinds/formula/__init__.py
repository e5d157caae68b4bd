"""The kind `formula`: a function that counts (MAC, bytes) is called as a black box, read off, and explained.

`count` has the words in which a pack says what is right; `spec` what a pack's data says about the call; `planning`
what to run; `reading` what came back; `statements` what the student's comments assume; `slips` the ways of being
nearly right; `diagnosis` the best reading; `reasons` what may be said of hidden cases; `judging` the verdict.
"""

from grading.kinds.formula.judging import judge
from grading.kinds.formula.planning import plan
from grading.kinds.formula.spec import Spec
from grading.kinds.formula.statements import read

__all__ = ["Spec", "judge", "plan", "read"]
