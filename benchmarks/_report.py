"""One JSON object last: what every benchmark prints."""

import json
import os
import platform
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path


def report(name: str, samples: Sequence[float], target: dict[str, float], unit: str = "s") -> None:
    """Print figures of `samples` and whether each targeted figure (`median`, `p95`) is met."""
    ordered = sorted(samples)
    median = statistics.median(ordered)
    figures = {"median": median, "p95": ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]}
    quartiles = statistics.quantiles(ordered, n=4)
    print(
        json.dumps(
            {
                "name": name,
                "unit": unit,
                "median": round(median, 6),
                "p95": round(figures["p95"], 6),
                "spread": round((quartiles[2] - quartiles[0]) / median, 4),  # interquartile range over the median
                "n": len(ordered),
                "samples": [round(sample, 6) for sample in samples],
                "target": target,
                "met": all(figures[figure] <= bound for figure, bound in target.items()),
                "machine": _machine(),
                "commit": _commit(),
            }
        )
    )


def _machine() -> dict[str, object]:
    return {"system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count()}


def _commit() -> str:
    answer = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=Path(__file__).parent, capture_output=True, text=True
    )
    return answer.stdout.strip() or "unknown"
