"""Line 10. Returns an object whose `__class__` says int, whose class is called int and claims to be one."""

from court import Court


def test_an_object_that_says_it_is_an_int_is_none(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        class Lying(type):
            __class__ = property(lambda cls: type)
            def __instancecheck__(cls, one):
                return True
            def __subclasscheck__(cls, one):
                return True
            def __eq__(cls, other):
                return True
            __hash__ = type.__hash__

        class Anything(metaclass=Lying):
            __class__ = property(lambda self: int)
            def bit_length(self):
                return 1
            def to_bytes(self, *how, **more):
                return bytes(64)

        def named():
            Anything.__name__ = Anything.__qualname__ = "int"
            Anything.__module__ = "builtins"
            return True

        done = named()

        def gemm_mac(x, y):
            return Anything() if done else 1
        """,
        named="it returned a int. An int is asked for",
    )
