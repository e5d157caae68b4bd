"""Public cases of question 3.2."""

from grading.kinds.formula.count import Case

CASES = (
    Case("all sizes 1", {"B": 1, "H": 1, "L_q": 1, "L_kv": 1, "D_h": 1}, 44),
    Case("B 2, H 3, L_q 4, L_kv 5, D_h 6", {"B": 2, "H": 3, "L_q": 4, "L_kv": 5, "D_h": 6}, 5_952),
    Case("B 1, H 4, L_q 173, L_kv 256, D_h 128", {"B": 1, "H": 4, "L_q": 173, "L_kv": 256, "D_h": 128}, 6_717_440),
)
