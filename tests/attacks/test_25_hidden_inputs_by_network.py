"""Line 25. Opens connections of every family to send the hidden inputs out: addresses, names, sockets of services."""

from court import Court


def test_there_is_no_network(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import ctypes
        import socket
        import urllib.request

        FAMILIES = [getattr(socket, "AF_" + name) for name in ("INET", "INET6", "UNIX", "NETLINK", "PACKET", "VSOCK")]

        def tries(text):
            for family in FAMILIES:
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
                    yield lambda family=family, kind=kind: socket.socket(family, kind)
            yield lambda: socket.getaddrinfo(f"{text}.example.org", 80)[0]
            yield lambda: urllib.request.urlopen(f"http://127.0.0.1:8000/{text}", timeout=1)
            yield lambda: socket.create_connection(("169.254.169.254", 80), 1)
            yield lambda: socket.socketpair()
            yield lambda: 1 / (ctypes.CDLL(None).syscall(425, 8, bytes(120)) + 1)

        def gemm_mac(x, y):
            made = list(tries("x".join(map(str, (*x.shape, *y.shape)))))
            out = 0
            for one in made:
                try:
                    one()
                    out += 1
                except (OSError, ZeroDivisionError):
                    pass
            raise ConnectionError(f"{out} of {len(made)} went out")
        """,
        named=r"it raised ConnectionError: 0 of \d+ went out",
    )
