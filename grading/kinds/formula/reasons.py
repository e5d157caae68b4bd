"""What a verdict may say of hidden cases: closed lists of sentences, without a value, a line or a duration in them."""

from enum import StrEnum
from typing import Final

from grading.kinds.formula.reading import Trouble


class Hidden(StrEnum):
    """All that may be said of drawn cases."""

    AGREES = "Right on every drawn case."
    DIFFERS = "Right on the public cases, wrong on drawn ones."
    WRONG = "Wrong on drawn cases too."
    LARGE_AGREES = "Right on large sizes too."
    LARGE_DIFFERS = "Right on small sizes, wrong on large ones."
    LARGE_UNSEEN = (
        "Large sizes gave no result (time, memory, output or an error); the small ones decide. Count from the sizes, "
        "not from tensors or loops."
    )
    LARGE_WRAPS = (
        "Beyond 2^63 the result wraps around: 64-bit integers were used. No model is that large, so it stands."
    )
    ROUNDED_FAR = (
        "Beyond 2^53 the result is a little off: a float takes part on the way (/, 2.0, math.pow). No model is that "
        "large, so it stands; // and whole numbers are exact at every size."
    )
    ROUNDED = (
        "Right on small sizes, a little off on large ones: a float of few bits takes part on the way. Use // and whole "
        "numbers."
    )
    WRAPS_EARLY = "Right on small sizes, wrapped around beyond 2^31: 32-bit integers were used on the way."
    NOT_LOADED = "The code could not be loaded a second time, for the drawn cases."
    RAISED = "On a drawn case the function raised an exception."
    WRONG_TYPE = "On a drawn case the function returned something that is not an int."
    TOO_LARGE = "On a drawn case the function returned an integer far longer than any count of such sizes."
    TIMED_OUT = "On drawn cases of small sizes the function took too long."
    OUT_OF_MEMORY = "On a drawn case the function used more memory than it may."
    FLOODED = "On drawn cases the function printed more than it may."
    STOPPED = "On a drawn case the program stopped before the function returned."


OF_TROUBLE: Final = {
    Trouble.NOT_LOADED: Hidden.NOT_LOADED,
    Trouble.RAISED: Hidden.RAISED,
    Trouble.WRONG_TYPE: Hidden.WRONG_TYPE,
    Trouble.TOO_LARGE: Hidden.TOO_LARGE,
    Trouble.TIMED_OUT: Hidden.TIMED_OUT,
    Trouble.OUT_OF_MEMORY: Hidden.OUT_OF_MEMORY,
    Trouble.FLOODED: Hidden.FLOODED,
    Trouble.STOPPED: Hidden.STOPPED,
}

USED_UP: Final = (
    "Today's explanations for this question are used up. The public cases still show where it differs; explanations "
    "are there again tomorrow."
)
LOOKED_AT: Final = "A person will look at what this answer assumes; until then these points stand."
NOT_A_POLYNOMIAL: Final = (
    "Your function is not a polynomial in the sizes, as far as could be read off: judged on cases."
)
NOT_READ_OFF: Final = (
    "Your function's formula could not be read off (it gave no integer at the very large sizes that are tried for "
    "that): judged on cases."
)
ADVICE_ON_FLOATS: Final = "A count is a whole number: use // in place of / and integers in place of floats."
