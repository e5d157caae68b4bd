"""The bytes of bonus 3.2: a grouped-query attention module at prefill, bf16, every layer's operands read and written.

Prefill has L_q = L_kv, so one length L stands for both. As in bonus 3.1 there is no single right count.
"""

from collections.abc import Mapping
from random import Random

from grading.kinds.formula.count import Axis, Choice, Count, Misreading, Term, Values
from grading.polynomial import symbols

from ._assumptions import (
    CAUSAL_AT_PREFILL,
    KERNEL,
    KV_HEADS,
    MASK,
    PASSES,
    SCALE,
    SOFTMAX,
    mask_heads,
    scores,
)

B, L, D, G, n_kv, d = symbols("B L D G n_kv d")
n_h = G * n_kv

WEIGHTS = Axis(
    "weights",
    (
        Choice("weights-read", "projection weights read", (r"\b(?:read|load)\w*\b[^.:;,]{0,30}\bweights?\b",)),
        Choice(
            "weights-resident",
            "projection weights resident, not read",
            (
                r"\bweights?\b.{0,50}?(?P<key>\b(?:resident|cached|not (?:counted|read|loaded|included)|ignored|"
                r"excluded|on[- ]chip|amorti[sz]\w+|left out|free)\b)",
                r"\b(?:ignor\w+|without|exclud\w+|omit\w*|no|not (?:count|includ)\w*)\b.{0,24}\bweights?\b",
            ),
        ),
    ),
)
INPUTS = Axis(
    "inputs",
    (
        Choice("input-thrice", "the input read by each of the three projections"),
        Choice(
            "input-once",
            "the input read once for the three projections",
            (
                r"\b(?:x|inputs?|hidden(?:_states| states)?|activations?)\b.{0,40}?(?P<key>\b(?:once|one time)\b)",
                r"\bfused qkv\b|\bqkv\b.{0,20}\bfused\b",
            ),
        ),
    ),
)
NORM = Axis(
    "norm",
    (
        Choice("norm-none", "the norms of q and k not counted"),
        Choice("norm-pass", "the norms of q and k in passes of their own", (r"\bnorm\w*|\b\w+norms?\b",)),
    ),
)
ROPE = Axis(
    "rope",
    (
        Choice("rope-none", "the rotary embedding not counted"),
        Choice("rope-pass", "the rotary embedding in a pass of its own", (r"\brope\b|\brotary\b",)),
    ),
)


# Worked out once, not for each of the many combinations of assumptions.
x, q, kv = 2 * B * L * D, 2 * B * L * n_h * d, 2 * B * L * n_kv * d
w_q, w_kv, w_out = 2 * D * n_h * d, 2 * D * n_kv * d, 2 * n_h * d * D
heads = B * n_h


def terms(chosen: Mapping[str, str]) -> tuple[Term, ...]:
    attended = q if chosen["kv-heads"] == "kv-expanded" else kv
    head = 2 * scores(chosen["causal"], L, L)
    matrix = 0 * heads if chosen["kernel"] == "flash" else heads * head
    weights = 0 if chosen["weights"] == "weights-resident" else 1
    shared = 0 if chosen["inputs"] == "input-once" else 1
    return (
        Term("read-x-for-q", x, "the input", "read by the projection of Q"),
        Term("read-w-q", weights * w_q, "the weight of Q", "read"),
        Term("write-q", q, "Q", "written by its projection"),
        Term("read-x-for-k", shared * x, "the input", "read by the projection of K"),
        Term("read-w-k", weights * w_kv, "the weight of K", "read"),
        Term("write-k", kv, "K", "written by its projection"),
        Term("read-x-for-v", shared * x, "the input", "read by the projection of V"),
        Term("read-w-v", weights * w_kv, "the weight of V", "read"),
        Term("write-v", kv, "V", "written by its projection"),
        Term("norm", (2 if chosen["norm"] == "norm-pass" else 0) * (q + kv), "the pass of the norms"),
        Term("rope", (2 if chosen["rope"] == "rope-pass" else 0) * (q + kv), "the pass of the rotary embedding"),
        Term("read-q", q, "Q", "read by Q·Kᵀ"),
        Term("read-k", attended, "K", "read by Q·Kᵀ"),
        Term("write-scores", matrix, "the matrix of scores", "written by Q·Kᵀ"),
        Term("scale", (2 if chosen["scale"] == "scale-own" else 0) * matrix, "the pass that scales the scores"),
        Term("read-mask", mask_heads(chosen["mask"], B, n_h) * head, "the mask", "read"),
        Term("softmax", PASSES[chosen["softmax"]] * matrix, "the traffic of softmax"),
        Term("read-scores", matrix, "the matrix of probabilities", "read by A·V"),
        Term("read-v", attended, "V", "read by A·V"),
        Term("write-heads", q, "the output of A·V", "written"),
        Term("read-heads", q, "the output of A·V", "read by the output projection"),
        Term("read-w-out", weights * w_out, "the weight of the output projection", "read"),
        Term("write-output", x, "the module's output", "written"),
    )


def ordinary(random: Random) -> list[Values]:
    return [_sizes(random, 2 * half) for half in random.sample(range(1, 12), 6)] + [
        _sizes(random, 2 * half + 1) for half in random.sample(range(1, 12), 6)
    ]


def large(random: Random) -> list[Values]:
    gemma = {"B": 8, "L": 2 * random.randrange(4000, 5000), "D": 640, "G": 4, "n_kv": 1, "d": 256}
    huge = {"B": 517, "L": 2 * random.randrange(10**7, 2 * 10**7), "D": 1 << 14, "G": 8, "n_kv": 16, "d": 384}
    return [gemma, huge]


def without_head_dim(sizes: Values) -> Values:
    """The sizes as they look to an answer that works the head size out of hidden_size."""
    return {**sizes, "d": sizes["D"] // (sizes["G"] * sizes["n_kv"])}


def _sizes(random: Random, length: int) -> Values:
    groups, kv_heads, head = random.randrange(2, 5), random.randrange(2, 4), random.randrange(3, 9)
    hidden = groups * kv_heads * (head + random.randrange(1, 4))
    return {"B": random.randrange(2, 5), "L": length, "D": hidden, "G": groups, "n_kv": kv_heads, "d": head}


COUNT = Count(
    terms,
    ordinary,
    large,
    axes=(SOFTMAX, SCALE, MASK, KV_HEADS, WEIGHTS, INPUTS, NORM, ROPE, CAUSAL_AT_PREFILL, KERNEL),
    misreadings=(
        Misreading(
            "head-dim",
            "The head size is worked out as hidden_size // num_attention_heads; this model sets head_dim on its own",
            without_head_dim,
        ),
    ),
    names={
        "B": "batch_size",
        "L": "the sequence length",
        "D": "hidden_size",
        "G": "num_attention_heads / num_key_value_heads",
        "n_kv": "num_key_value_heads",
        "d": "head_dim",
    },
)
