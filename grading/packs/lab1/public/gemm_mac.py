"""Public cases of question 1.3."""

from grading.kinds.formula.count import Case

CASES = (
    Case("2×3 · 3×4", {"N": 2, "K": 3, "M": 4}, 24),
    Case("128×256 · 256×512", {"N": 128, "K": 256, "M": 512}, 16_777_216),
    Case("512×512 · 512×512", {"N": 512, "K": 512, "M": 512}, 134_217_728),
)
