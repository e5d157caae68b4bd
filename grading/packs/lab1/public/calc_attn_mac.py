"""Public cases of the count in question 3.1."""

from grading.kinds.formula.count import Case

CASES = (
    Case("B 2, H 3, L_q 4, L_kv 5, D_h 6", {"B": 2, "H": 3, "L_q": 4, "L_kv": 5, "D_h": 6}, 1_440),
    Case("B 1, H 4, L_q 173, L_kv 256, D_h 128", {"B": 1, "H": 4, "L_q": 173, "L_kv": 256, "D_h": 128}, 45_350_912),
)
