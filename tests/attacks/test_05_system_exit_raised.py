"""Line 5. Raises exceptions of classes that are no `Exception`, with a status and a text that say success."""

from court import Court


def test_a_system_exit_is_an_exception_like_any_other(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import sys

        class Passed(SystemExit):
            code = 0
            def __str__(self):
                raise GeneratorExit

        def gemm_mac(x, y):
            if x.shape[0] % 2:
                sys.exit(0)
            raise Passed(0)
        """,
        named="it raised (SystemExit|Passed|KeyboardInterrupt)",
    )
