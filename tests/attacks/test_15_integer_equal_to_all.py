"""Line 15. Returns an int of its own class that equals every number and compares as the grader would like."""

from court import Court


def test_an_integer_of_another_class_is_not_taken(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        class Count(int):
            def __eq__(self, other):
                return True
            def __ne__(self, other):
                return False
            __le__ = __ge__ = __lt__ = __gt__ = __eq__
            __hash__ = int.__hash__
            def __sub__(self, other):
                return 0
            __rsub__ = __mod__ = __xor__ = __sub__
            def to_bytes(self, *how, **more):
                return bytes(64)

        def gemm_mac(x, y):
            return Count(1)
        """,
        named="it returned a Count. An int is asked for",
    )
