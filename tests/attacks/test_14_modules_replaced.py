"""Line 14. Replaces modules by name with ones that agree with everything, a judge's among them."""

from court import Court


def test_a_replaced_module_decides_nothing(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import sys
        import types

        class Agreeing(types.ModuleType):
            def __getattr__(self, name):
                return lambda *given, **more: True

        def replace():
            for name in (
                "reference", "eval", "utils", "pytest", "grading", "grading.verdict", "grading.kinds", "grader", "json",
                "mmap", "torch", "numpy", "labcore", "labcore.runner", "labcore.runner.protocol", "os",
            ):
                sys.modules[name] = Agreeing(name)
            return True

        done = replace()

        def gemm_mac(x, y):
            return 1 if done else 2
        """,
        named="wrong on drawn cases",
    )
