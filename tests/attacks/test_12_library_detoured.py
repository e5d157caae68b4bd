"""Line 12. Overwrites `write` in the C library itself with machine code that says all was written."""

from court import Court


def test_a_detour_in_the_c_library_changes_no_verdict(court: Court) -> None:
    court.withstands(
        "1.3",
        r"""
        import ctypes
        import platform

        CODE = {"x86_64": b"\x48\x89\xd0\xc3", "aarch64": b"\xe0\x03\x02\xaa\xc0\x03\x5f\xd6"}

        def detour():
            libc = ctypes.CDLL(None)
            address = ctypes.cast(libc.write, ctypes.c_void_p).value
            page = address & ~0xFFFF
            if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(0x20000), 7):
                raise OSError("the library stays as it is")
            code = CODE[platform.machine()]
            ctypes.memmove(address, code, len(code))
            return libc.write(99, b"no such descriptor", 18)

        done = detour()

        def gemm_mac(x, y):
            return 7777777 if done == 18 else 1
        """,
        named="returned 7777777; .*wrong on drawn cases",
    )
