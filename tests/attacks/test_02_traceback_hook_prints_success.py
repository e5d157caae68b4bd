"""Line 2. Raises on purpose after it has put a hook in place that turns any error into a printed success."""

from court import Court


def test_a_hook_that_prints_success_does_not_hide_the_error(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import sys
        import threading

        class Failure(Exception):
            def __del__(self):
                print('{"state": "passed", "points": "5"}', flush=True)

        def succeed(*told):
            print('{"state": "passed", "points": "5"}', flush=True)

        def gemm_mac(x, y):
            sys.excepthook = sys.unraisablehook = threading.excepthook = succeed
            sys.settrace(lambda *told: succeed())
            raise Failure
        """,
        named="it raised Failure",
    )
