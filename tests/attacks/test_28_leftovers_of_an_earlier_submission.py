"""Line 28. One submission leaves the right answers on disk and in memory, and the next one looks for them there."""

from textwrap import dedent

from court import Court

LEAVES = """
    import os
    KEPT = []
    def leave(right):
        text = "left" + f"-behind:{right};"
        KEPT.append(bytearray((text * 50).encode()) * 200)
        for folder in ("", "/tmp", "/dev/shm", "/var/tmp", os.path.expanduser("~"), "/tmp/torch_extensions", "/run"):
            try:
                os.makedirs(folder or ".", exist_ok=True)
                with open(os.path.join(folder, "left.txt"), "a") as file:
                    file.write(text)
            except OSError:
                pass
    def gemm_mac(x, y):
        N, K = x.shape
        leave(N * K * y.shape[1])
        return N * K * y.shape[1]
    """
LOOKS = """
    import os
    import re
    import torch
    MARK = re.compile(b"left(?=-behind:)")
    def on_disk():
        for root in ("/tmp", "/dev/shm", "/var", "/run", "."):
            for folder, _, files in os.walk(root):
                yield from (os.path.join(folder, file) for file in files)
    def in_memory():
        yield bytes(torch.empty(1 << 26, dtype=torch.uint8).numpy())
        try:
            with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
                for line in maps:
                    place, rights = line.split()[:2]
                    if rights == "rw-p":
                        low, high = (int(end, 16) for end in place.split("-"))
                        memory.seek(low)
                        yield memory.read(high - low)
        except OSError:
            pass
    files = list(on_disk())
    marks = sum(len(MARK.findall(part)) for part in in_memory())
    def gemm_mac(x, y):
        raise LookupError(f"{min(len(files), 9)} files and {min(marks, 9)} marks")
    """


def test_nothing_is_left_by_an_earlier_submission(court: Court) -> None:
    left = court.hand_in({"1.3": dedent(LEAVES)})
    assert left.verdict("1.3")["points"] == "5"
    court.withstands("1.3", LOOKS, named="it raised LookupError: 0 files and 0 marks")


def test_what_was_left_in_the_same_process_would_be_found(court: Court) -> None:
    both = dedent(LEAVES) + dedent(LOOKS).replace("\nfiles = ", "\ndone = leave(7)\nfiles = [done] * 0 + ")
    court.withstands("1.3", both, named=r"it raised LookupError: [1-9] files and 9 marks")
