"""Line 24. Imports the judge and the pack under every name they might have, and calls the reference."""

from court import Court


def test_there_is_no_reference_to_import(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import importlib
        import sys

        NAMES = [
            "reference", "eval", "solution", "hidden", "grading", "grading.pack", "grading.packs.lab1.hidden.gemm_mac",
            "grading.kinds.formula.count", "rooflab", "worker", "worker.sandbox", "api", "pack", "utils", "sqlalchemy",
        ]

        def imported():
            sys.path += ["/", "/work", "/opt", "/opt/site", "/opt/rooflab", "/app", "/usr/lib/python3/dist-packages"]
            for name in NAMES:
                try:
                    module = importlib.import_module(name)
                    if getattr(module, "__file__", None):  # else no more than a folder of that name
                        yield module
                except ImportError:
                    pass

        def gemm_mac(x, y):
            found = list(imported())
            for module in found:
                if hasattr(module, "reference"):
                    return module.reference(x, y)
            raise LookupError(f"{len(found)} of {len(NAMES)} imported {found[:2]}")
        """,
        named=r"it raised LookupError: 0 of \d+ imported",
    )
