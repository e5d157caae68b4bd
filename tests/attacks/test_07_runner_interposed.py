"""Line 7. Puts a function of its own in place of the runner's, which rewrites each result on its way out."""

from court import Court


def test_a_rewritten_result_is_compared_like_any_other(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import sys

        def interpose():
            runner = sys.modules["labcore.runner.child"]
            honest = runner._record
            def record(results, start, outcome, note):
                results[start + 0x808 : start + 0x848] = (7777777).to_bytes(64, "little")
                honest(results, start, type(outcome)(1), {})
            runner._record = record

        done = interpose()

        def gemm_mac(x, y):
            return 1.5 if done is None else 1
        """,
        named="returned 7777777; .*wrong on drawn cases",
    )
