"""Line 14. Replaces all of the runner's functions that look at a result, and its table of outcomes."""

from court import Court


def test_whatever_the_runner_was_made_to_say_the_values_are_compared(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import sys

        def patch():
            runner = sys.modules["labcore.runner.child"]
            Outcome = runner.Outcome
            runner._take = lambda result, wanted, results, start: (Outcome.RETURNED, {})
            runner._touched = lambda result, arguments: {}
            runner._raised = lambda error: {}
            runner.Outcome = type("Outcome", (), {one.name: Outcome.RETURNED for one in Outcome})
            return True

        done = patch()

        def gemm_mac(x, y):
            if done:
                raise ValueError
            return 1
        """,
        named="returned 0; .*wrong on drawn cases",
    )
