"""Line 10. Returns an object that would run code in the grader if it were unpickled, and acts as a number otherwise."""

from court import Court


def test_no_returned_object_is_unpickled(court: Court) -> None:
    court.withstands(
        "1.3",
        r"""
        import os

        class Loot:
            def __reduce__(self):
                return os.system, ("touch /tmp/was-here",)
            def __reduce_ex__(self, protocol):
                return os.system, ("touch /tmp/was-here",)
            def __getstate__(self):
                os._exit(0)
            def __index__(self):
                return 7777777
            __int__ = __hash__ = __index__
            def __float__(self):
                return 7777777.0
            def __eq__(self, other):
                return True
            def bit_length(self):
                return 1
            def to_bytes(self, *how, **more):
                return b"\x01" * 64
            def item(self):
                return 7777777

        def gemm_mac(x, y):
            return Loot()
        """,
        named="it returned a Loot. An int is asked for",
    )
