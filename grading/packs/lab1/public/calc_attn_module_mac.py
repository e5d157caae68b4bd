"""Public cases of bonus 3.1: the results under the plain assumptions that the prompt names."""

from grading.kinds.formula.count import Case

GEMMA = {"D": 640, "G": 4, "n_kv": 1, "d": 256}
SMALL = {"D": 24, "G": 2, "n_kv": 2, "d": 5}

CASES = (
    Case("a small configuration, batch 2, query 3, kv 5", {"B": 2, "L_q": 3, "L_kv": 5, **SMALL}, 9_840),
    Case("gemma-3-270m, decode of one token at kv 512", {"B": 1, "L_q": 1, "L_kv": 512, **GEMMA}, 2_686_976),
    Case("gemma-3-270m, prefill of 64 tokens", {"B": 1, "L_q": 64, "L_kv": 64, **GEMMA}, 113_246_208),
)
