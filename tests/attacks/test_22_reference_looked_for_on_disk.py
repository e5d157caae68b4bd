"""Line 22. Searches the whole file system for the hidden part of the pack, old hand-ins and databases."""

from court import Court


def test_no_hidden_file_is_within_sight(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import os

        WORDS = ("hidden", "reference", "solution", "samples", "packs", "rooflab.sqlite", "blobs", "lab.yaml", "gemm_")
        ROOTS = [
            "/", "/work", "/home", "/root", "/srv", "/var", "/data", "/mnt", "/app", "/run", "/tmp", "/dev/shm", "/etc",
            "/opt/rooflab", "/opt/site/grading", "/usr/src", "/proc/1/cwd", "/proc/1/root", "..", ".",
        ]

        def search():
            found = []
            for root in ROOTS:
                for folder, folders, files in os.walk(root):
                    if folder == "/":
                        folders[:] = set(folders) - {"proc", "usr"}
                    if folder.count("/") < 6:
                        found += [one for one in (*folders, *files) if any(word in one for word in WORDS)]
            return found

        def gemm_mac(x, y):
            found = search()
            raise LookupError(f"{len(found)} hidden files {found[:3]}")
        """,
        named="it raised LookupError: 0 hidden files",
    )
