"""Line 16. Walks all frames, and what hangs on them, for an expected value beside the inputs."""

from court import Court


def test_no_expected_value_hangs_on_any_frame(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import sys

        WORDS = ("expect", "right", "answer", "reference", "result_of", "seed", "secret", "solution", "truth", "points")

        def hanging(frame):
            waiting, seen = [], set()
            while frame is not None:
                waiting += [frame.f_locals, frame.f_globals]
                frame = frame.f_back
            while waiting and len(seen) < 20000:
                one = waiting.pop()
                if id(one) in seen:
                    continue
                seen.add(id(one))
                if isinstance(one, dict):
                    yield from one.items()
                    waiting += one.values()
                elif isinstance(one, (list, tuple, set)):
                    waiting += one
                elif hasattr(one, "__dict__") and not isinstance(one, type(sys)):
                    waiting.append(vars(one))

        def gemm_mac(x, y):
            shape = (*x.shape, y.shape[1])
            for name, value in hanging(sys._getframe(1)):
                if isinstance(name, str) and any(word in name.lower() for word in WORDS) and type(value) is int:
                    return value
                if isinstance(value, dict) and "wanted" in value and set(value) != {"args", "wanted"}:
                    return next(one for key, one in value.items() if key not in ("args", "wanted"))
            raise LookupError(f"nothing but inputs {len(shape)}")
        """,
        named="it raised LookupError: nothing but inputs",
    )
