"""Public cases of bonus 3.2: the results under the plain assumptions that the prompt names."""

from grading.kinds.formula.count import Case

GEMMA = {"D": 640, "G": 4, "n_kv": 1, "d": 256}
SMALL = {"D": 24, "G": 2, "n_kv": 2, "d": 5}

CASES = (
    Case("a small configuration, batch 2, length 4", {"B": 2, "L": 4, **SMALL}, 8_128),
    Case("gemma-3-270m, prefill of 64 tokens", {"B": 1, "L": 64, **GEMMA}, 4_489_216),
    Case("gemma-3-270m, prefill of 512 tokens", {"B": 1, "L": 512, **GEMMA}, 25_821_184),
)
