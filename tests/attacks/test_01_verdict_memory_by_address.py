"""Line 1. Finds the shared result memory by its address, past every Python object, and fills in each slot."""

from court import Court


def test_a_slot_forged_by_address_is_compared_like_any_other(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import ctypes
        import os

        def shared_memory():
            try:
                with open("/proc/self/maps") as maps:
                    for line in maps:
                        place, rights = line.split()[:2]
                        if rights == "rw-s" and "memfd" in line:
                            low, high = (int(end, 16) for end in place.split("-"))
                            yield low, high - low
            except OSError:  # where there is no /proc
                import gc
                import mmap
                for one in gc.get_objects():
                    if isinstance(one, mmap.mmap):
                        yield ctypes.addressof(ctypes.c_char.from_buffer(one)), len(one)

        def gemm_mac(x, y):
            for address, length in shared_memory():
                for record in range(address + 0x840, address + length - 0x87F, 0x880):
                    ctypes.memmove(record, (1).to_bytes(8, "little"), 8)
                    ctypes.memmove(record + 0x808, (7777777).to_bytes(64, "little"), 64)
                os._exit(0)
            return 1
        """,
        named="returned 7777777; .*wrong on drawn cases",
    )
