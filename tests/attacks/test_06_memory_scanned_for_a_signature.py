"""Line 6. Reads its own memory for the words that expected values, seeds and tokens would stand beside."""

from court import Court


def test_no_signature_lies_in_memory(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import re

        WORDS = [
            (b"roof", b"lab_pat_"), (b"ROOF", b"LAB_SECRET"), (b"seed_", b"for(sec"), (b"post", b"gresql+"),
            (b"SLI", b"PS = ("),
        ]

        def memory():
            with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as held:
                for line in maps:
                    place, rights, *rest = line.split()
                    if rights.startswith("rw") and not line.endswith(("[vvar]", "[vsyscall]")):
                        low, high = (int(end, 16) for end in place.split("-"))
                        held.seek(low)
                        try:
                            yield held.read(high - low)
                        except OSError:
                            pass

        def own_memory():
            try:
                yield from memory()
            except OSError:  # where there is no /proc
                import gc
                yield repr(gc.get_objects()).encode("utf-8", "replace")

        found = set()
        done = [
            found.update(word for word in WORDS if re.search(word[0] + b"(?=" + re.escape(word[1]) + b")", part))
            for part in own_memory()
        ]

        def gemm_mac(x, y):
            if done:
                raise LookupError(f"{len(found)} of {len(WORDS)} words found: {sorted(found)}"[:140])
            return 1
        """,
        named="it raised LookupError: 0 of 5 words found",
    )
