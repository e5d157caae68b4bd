"""What questions about attention share: assumptions, the words by which students state them, and sizes to draw."""

from decimal import Decimal
from random import Random
from typing import Final

from grading.kinds.formula.count import Axis, Choice, Values
from grading.polynomial import Polynomial

ONLY_STATED: Final = Decimal(0)
_HALF_CREDIT: Final = Decimal("0.5")
_NO_READING: Final = "".join(rf"(?<!{word} )" for word in ("read", "read the", "load the", "add the", "adding the"))
_CAUSAL: Final = (
    # What is left out here states the assumption: this pattern comes first, so that no other finds a denial in it.
    r"\b(?:\w+n['’]t (?:need|count|comput\w+|read)|not (?:need\w*|count\w*|comput\w+|read)|skip\w*|omit\w*|drop\w*|"
    r"masked)\b.{0,20}\b(?:upper|half|future)\b(?:.{0,20}\b(?:half|triang\w*)\b)?",
    rf"{_NO_READING}\bcausal(?! mask (?:is |are )?(?:read|load|add))",
    r"\b(?:lower|upper)[- ]?triang",
    r"\bhalf\b.{0,40}\b(?:scores?|attention|positions?|pairs?|matrix)\b",
)


def even_lengths(values: Values) -> bool:
    """Where half of the scores is whole, however it is written."""
    return all(values[name] % 2 == 0 for name in ("L", "L_q", "L_kv") if name in values)


def short_queries(values: Values) -> bool:
    """Where a triangle of scores is one, with or without min and max around it."""
    return "L" in values or values["L_q"] <= values["L_kv"]


CAUSAL: Final = Axis(
    "causal",
    (
        Choice("full", "full attention", (r"\b(?:full|bidirectional|non-?causal)\b.{0,20}\battention\b",)),
        Choice(
            "causal-half", "causal attention, its scores counted at half", _CAUSAL, even_lengths, unstated=_HALF_CREDIT
        ),
        Choice("causal-triangle", "causal attention, its triangle of scores counted exactly", _CAUSAL, short_queries),
        Choice(
            "causal-triangle-end",
            "causal attention, its scores counted exactly for queries at the end of the keys",
            _CAUSAL,
            short_queries,
        ),
    ),
)


# Where one length stands for both, the two triangles are one.
CAUSAL_AT_PREFILL: Final = Axis("causal", CAUSAL.choices[:3])


def scores(chosen: str, L_q: Polynomial, L_kv: Polynomial) -> Polynomial:
    """How many scores there are for one head, by the choice on the causal axis."""
    if chosen == "causal-half":
        return L_q * L_kv / 2
    if chosen == "causal-triangle":
        return (L_q * L_q + L_q) / 2
    if chosen == "causal-triangle-end":
        return L_q * L_kv - (L_q * L_q - L_q) / 2
    return L_q * L_kv


def _passes(number: int, word: str) -> tuple[str, ...]:
    unit = r"(?:x|×|\*|·|-?pass|element|read|time|access|memory|trip|B)"
    return (
        rf"softmax.{{0,60}}?(?P<key>\b(?:{number}|{word})\b)\s*{unit}",
        rf"(?P<key>\b(?:{number}|{word})\b)[ -]?(?:pass|read|trip|sweep|element|memory|access)\w*.{{0,60}}"
        r"\b(?:softmax|scores?)\b",
    )


_NUMBER: Final = r"\b(?:[2-9]|two|twice|three|thrice|four|five|six)\b"
_UNLESS_MORE: Final = rf"(?:(?!\b(?:reads?|reading|loads?)\b|{_NUMBER}).)"
_READ_AND_WRITE: Final = (
    rf"softmax{_UNLESS_MORE}{{0,60}}\b(?:reads?|loads?)\b{_UNLESS_MORE}{{0,40}}\b(?:writes?|stores?)\b(?!.{{0,40}}{_NUMBER})",
    r"\b(?:1|one) (?:read|load)\b.{0,10}\b(?:1|one) (?:write|store)\b.{0,30}\bsoftmax\b",
)

SOFTMAX: Final = Axis(
    "softmax",
    (
        Choice("softmax-5", "a softmax of 5 passes", _passes(5, "five")),
        Choice("softmax-6", "a softmax of 6 passes", _passes(6, "six"), unstated=ONLY_STATED),
        Choice("softmax-4", "a softmax of 4 passes", _passes(4, "four"), unstated=ONLY_STATED),
        Choice("softmax-3", "a softmax of 3 passes", _passes(3, "three")),
        Choice("softmax-2", "a softmax of 2 passes", (*_passes(2, "two"), *_READ_AND_WRITE)),
        Choice(
            "softmax-fused",
            "a softmax that moves nothing of its own (fused)",
            (
                r"softmax.{0,40}?(?P<key>\b(?:fused|not counted|ignored|omitted|free|left out|on[- ]chip|in registers|"
                r"no (?:memory|extra) (?:traffic|i/?o|access)|costs? nothing)\b)",
                r"\b(?:ignor\w+|omit\w*|exclud\w+|without|no|(?:not|\w*n['’]t) count\w*|skip\w*|"
                r"fus\w+)\b.{0,30}\bsoftmax\b",
            ),
            unstated=_HALF_CREDIT,
        ),
    ),
)
PASSES: Final = {"softmax-6": 6, "softmax-5": 5, "softmax-4": 4, "softmax-3": 3, "softmax-2": 2, "softmax-fused": 0}

SCALE: Final = Axis(
    "scale",
    (
        Choice("scale-fused", "the scaling done within the product"),
        Choice(
            "scale-own",
            "the scaling in a pass of its own",
            (
                r"\bscal(?:e|ed|ing)\b.{0,60}?(?P<key>\b(?:pass|separate\w*|own|extra|reads?|writes?|written)\b)",
                r"(?P<key>\b(?:separate|own|extra|additional)\b).{0,30}\bscal(?:e|ed|ing)\b",
            ),
        ),
    ),
)

_MASK_SAYS: Final = (
    r"(?:\b|_)mask\w*\b.{0,40}?(?P<key>\b(?:read|load|loaded|pass|added|adds?|traffic)\b)",
    r"(?P<key>\b(?:read|load|add)(?:s|ing)?\b).{0,24}(?:\b|_)mask",
)
MASK: Final = Axis(
    "mask",
    (
        Choice("mask-none", "no mask"),
        Choice("mask-read", "an attention mask that is read for every head", _MASK_SAYS),
        Choice("mask-batch", "an attention mask that is read once for each sequence", _MASK_SAYS),
        Choice("mask-once", "one attention mask that is read once", _MASK_SAYS),
    ),
)


def mask_heads(chosen: str, B: Polynomial, H: Polynomial) -> Polynomial:
    """For how many heads the mask is read, by the choice on the mask axis."""
    return {"mask-read": B * H, "mask-batch": B, "mask-once": 0 * B + 1}.get(chosen, 0 * B)


KERNEL: Final = Axis(
    "kernel",
    (
        Choice("standard", "standard attention"),
        Choice(
            "flash",
            "flash attention, whose scores never leave the chip",
            (r"\bflash[-_ ]?att(?:entio)?n", r"\b(?:one|single) fused kernel\b", r"\bscores?\b.{0,40}\bon[- ]chip\b"),
            stated=_HALF_CREDIT,
            unstated=_HALF_CREDIT,
        ),
    ),
)

# Both choices speak of expanding: products have num_attention_heads heads on either side in any case.
_EITHER: Final = (r"\bgqa\b|\bgrouped[- ]query\b", r"\bexpand\w*\b", r"\brepeat\w*\b", r"\bbroadcast\w*\b")
KV_HEADS: Final = Axis(
    "kv-heads",
    (
        Choice("kv-grouped", "K and V of num_key_value_heads heads", (*_EITHER, r"\bnot? (?:repeated|expanded)\b")),
        Choice(
            "kv-expanded",
            "K and V expanded to num_attention_heads heads",
            _EITHER,
        ),
    ),
)


def lengths(random: Random) -> list[tuple[int, int]]:
    """Pairs of L_q and L_kv on which every assumption shows: both even, equal, odd, and either one the longer."""
    short = [(2 * a, 2 * (a + random.randrange(1, 6))) for a in random.sample(range(1, 7), 3)]
    long = [(2 * (a + random.randrange(1, 6)), 2 * a) for a in random.sample(range(1, 7), 2)]
    equal = [
        (a, a) for a in (2 * random.randrange(2, 6), 2 * random.randrange(2, 6) + 1, 2 * random.randrange(6, 9) + 1)
    ]
    odd = [(a, a + random.choice((2, 4, 6, 7))) for a in random.sample((3, 5, 7, 9), 2)]
    odd += [(a + random.choice((2, 3, 4, 6)), a) for a in random.sample((3, 5, 7, 9), 2)]
    return short + long + equal + odd


def ordinary_sizes(random: Random) -> list[Values]:
    """Small sizes for a function of (B, H, L_q, L_kv, D_h): few enough steps for an answer that loops."""
    return [
        {
            "B": random.randrange(2, 6),
            "H": random.randrange(2, 7),
            "L_q": query,
            "L_kv": keys,
            "D_h": random.randrange(3, 20),
        }
        for query, keys in lengths(random)
    ]


def large_sizes(random: Random) -> list[Values]:
    """Sizes whose results pass 2^31, and 2^63."""

    def even(least: int, most: int) -> int:
        return 2 * random.randrange(least // 2, most // 2)

    past_31 = {"B": 8, "H": 16, "L_q": even(2000, 3000), "L_kv": even(3000, 4000), "D_h": 128}
    odd_31 = {"B": 7, "H": 15, "L_q": even(2000, 4000) + 1, "L_kv": even(2000, 4000) + 1, "D_h": 96}
    past_63 = {"B": 801, "H": 129, "L_q": even(10**6, 2 * 10**6), "L_kv": even(2 * 10**6, 3 * 10**6), "D_h": 513}
    return [past_31, odd_31, past_63]
