"""Line 8. A thread stays behind and keeps rewriting the result memory until the process is gone."""

from court import Court


def test_what_a_thread_rewrites_is_compared_like_any_other(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import mmap
        import sys
        import threading

        rewritten = threading.Event()

        def memories(frame):
            while frame is not None:
                yield from (one for one in list(frame.f_locals.values()) if isinstance(one, mmap.mmap))
                frame = frame.f_back

        def rewrite(memory):
            while True:
                for start in range(0x840, len(memory), 0x880):
                    memory[start : start + 4] = (1).to_bytes(4, "little")
                    memory[start + 0x808 : start + 0x848] = (7777777).to_bytes(64, "little")
                rewritten.set()

        def begin():
            sys.setswitchinterval(1e-4)
            for memory in memories(sys._getframe()):
                threading.Thread(target=rewrite, args=(memory,), daemon=True).start()
            return True

        done = begin()

        def gemm_mac(x, y):
            rewritten.clear()
            return rewritten.wait(2) - done + 1
        """,
        named="returned 7777777; .*wrong on drawn cases",
    )
