"""How long a student waits for the first line of their code: from the request to a byte that this line writes.

The child is a spare that waits, confined, in a warm slot; both moments are read off the worker's own clock.
"""

import argparse
import sys

from _report import report

from labcore.runner.protocol import Call, Ending, IntegerWanted, Job
from worker.sandbox.slot import Slot

TARGET = {"median": 0.003}
FIRST_LINE = "__import__('os').write(3, b'.')\ndef f(n): return n\n"  # descriptor 3 takes the ticks
WARM_UP = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=200)
    report("child", measure(parser.parse_args().n), TARGET)


def measure(count: int) -> list[float]:
    """Seconds from the request to the first line, of many children in a row."""
    job = Job(FIRST_LINE, "f", (Call((1,), IntegerWanted()),))
    samples = []
    with Slot() as slot:
        for number in range(WARM_UP + count):
            seen = slot.run(job)
            if seen.ending is not Ending.FINISHED or seen.load_seconds is None:
                sys.exit(f"a child did not finish: {seen}")
            if number >= WARM_UP:
                samples.append(seen.load_seconds)
    return samples


if __name__ == "__main__":
    main()
