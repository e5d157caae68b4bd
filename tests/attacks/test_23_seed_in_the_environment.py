"""Line 23. Looks for the seed in its environment, its arguments, its parent's environment and its own stack."""

from court import Court


def test_no_seed_is_told(court: Court) -> None:
    court.withstands(
        "1.3",
        r"""
        import os
        import re
        import sys

        def seeds():
            told = [f"{name}={value}" for name, value in os.environ.items()] + sys.argv + sys.orig_argv
            for process in ("self", str(os.getppid()), "1", "2"):
                for name in ("environ", "cmdline"):
                    try:
                        with open(f"/proc/{process}/{name}", errors="replace") as file:
                            told += file.read().split("\0")
                    except OSError:
                        pass
            return [one for one in told if re.search("seed|secret|token|rooflab_|[0-9a-f]{16}", one, re.IGNORECASE)]

        def gemm_mac(x, y):
            found = seeds()
            raise LookupError(f"{len(found)} seeds {found[:2]}")
        """,
        named="it raised LookupError: 0 seeds",
    )
