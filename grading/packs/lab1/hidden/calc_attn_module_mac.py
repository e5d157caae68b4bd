"""The MAC of bonus 3.1: four projections and two products of a grouped-query attention module.

There is no single right count: what counts as plain here is what needs no comment, every other choice stands equal to
it when it is stated.
"""

from collections.abc import Mapping
from random import Random

from grading.kinds.formula.count import Axis, Choice, Count, Misreading, Mistake, Term, Values
from grading.polynomial import symbols

from ._assumptions import CAUSAL, KV_HEADS, ONLY_STATED, lengths, scores

B, L_q, L_kv, D, G, n_kv, d = symbols("B L_q L_kv D G n_kv d")
n_h = G * n_kv

ROWS = Axis(
    "kv-rows",
    (
        Choice(
            "kv-new",
            "K and V projected for the new tokens only",
            (r"\bkv[- ]?cach\w*", r"\bnew tokens?\b", r"\bonly\b.{0,30}\b(?:new|query_len|L_q)\b"),
        ),
        Choice(
            "kv-all",
            "K and V projected for all kv_len tokens",
            (
                r"\b(?:all|every|whole|full|entire)\b.{0,20}\b(?:kv_?len|L_kv|keys?|context|sequence|tokens?)\b",
                r"\bproject\w*.{0,40}\b(?:kv_?len|L_kv)\b",
                r"\b(?:kv_?len|L_kv)\b.{0,40}\bproject",
            ),
        ),
    ),
)
_NORM_SAYS = (r"\bnorm\w*|\b\w+norms?\b",)
NORM = Axis(
    "norm",
    (
        Choice("norm-none", "the norms of q and k not counted"),
        Choice("norm-1", "the norms of q and k at one MAC an element", _NORM_SAYS),
        Choice("norm-2", "the norms of q and k at two MAC an element", _NORM_SAYS),
        Choice("norm-3", "the norms of q and k at three MAC an element", _NORM_SAYS, unstated=ONLY_STATED),
    ),
)
_ROPE_SAYS = (r"\brope\b|\brotary\b",)
ROPE = Axis(
    "rope",
    (
        Choice("rope-none", "the rotary embedding not counted"),
        Choice("rope-1", "the rotary embedding at one MAC an element", _ROPE_SAYS),
        Choice("rope-2", "the rotary embedding at two MAC an element", _ROPE_SAYS),
    ),
)
_EACH = {"norm-none": 0, "norm-1": 1, "norm-2": 2, "norm-3": 3, "rope-none": 0, "rope-1": 1, "rope-2": 2}


def terms(chosen: Mapping[str, str]) -> tuple[Term, ...]:
    rows = L_kv if chosen["kv-rows"] == "kv-all" else L_q
    kv_heads = n_h if chosen["kv-heads"] == "kv-expanded" else n_kv
    product = B * n_h * scores(chosen["causal"], L_q, L_kv) * d
    elements = B * (L_q * n_h + rows * kv_heads) * d
    return (
        Term("project-q", B * L_q * D * n_h * d, "the projection of Q"),
        Term("project-k", B * rows * D * kv_heads * d, "the projection of K"),
        Term("project-v", B * rows * D * kv_heads * d, "the projection of V"),
        Term("norm", _EACH[chosen["norm"]] * elements, "the norm of q and k"),
        Term("rope", _EACH[chosen["rope"]] * elements, "the rotary embedding"),
        Term("product-qk", product, "the product Q·Kᵀ"),
        Term("product-av", product, "the product A·V"),
        Term("project-out", B * L_q * n_h * d * D, "the output projection"),
    )


def ordinary(random: Random) -> list[Values]:
    return [_sizes(random, query, keys) for query, keys in lengths(random)]


def large(random: Random) -> list[Values]:
    gemma = {"D": 640, "G": 4, "n_kv": 1, "d": 256}
    longer = random.randrange(1000, 2000) * 2
    huge = {"D": 1 << 14, "G": 8, "n_kv": 16, "d": 384, "L_q": 1 << 20, "L_kv": (1 << 20) + longer, "B": 517}
    return [{**gemma, "B": 8, "L_q": longer, "L_kv": longer + 64}, huge]


def without_head_dim(sizes: Values) -> Values:
    """The sizes as they look to an answer that works the head size out of hidden_size."""
    return {**sizes, "d": sizes["D"] // (sizes["G"] * sizes["n_kv"])}


HEAD_DIM = Misreading(
    "head-dim",
    "The head size is worked out as hidden_size // num_attention_heads; this model sets head_dim on its own",
    without_head_dim,
)
NAMES = {
    "B": "batch_size",
    "L_q": "query_len",
    "L_kv": "kv_len",
    "D": "hidden_size",
    "G": "num_attention_heads / num_key_value_heads",
    "n_kv": "num_key_value_heads",
    "d": "head_dim",
}
GROUPED = Mistake(
    "kv-heads",
    "Both products are counted with num_key_value_heads: each of num_attention_heads query heads has scores of its own",
    2 * B * L_q * L_kv * d * (n_kv - n_h),
)


def _sizes(random: Random, query: int, keys: int) -> Values:
    groups, kv_heads, head = random.randrange(2, 5), random.randrange(2, 4), random.randrange(3, 9)
    hidden = groups * kv_heads * (head + random.randrange(1, 4))
    return {
        "B": random.randrange(2, 5),
        "L_q": query,
        "L_kv": keys,
        "D": hidden,
        "G": groups,
        "n_kv": kv_heads,
        "d": head,
    }


COUNT = Count(
    terms,
    ordinary,
    large,
    axes=(ROWS, KV_HEADS, NORM, ROPE, CAUSAL),
    misreadings=(HEAD_DIM,),
    mistakes=(GROUPED,),
    names=NAMES,
)
