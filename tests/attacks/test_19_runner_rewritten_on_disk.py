"""Line 19. Rewrites torch, the runner, the standard library and its own file on disk, for whoever comes next."""

from court import Court


def test_nothing_that_is_run_can_be_rewritten(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import json
        import os
        import sys
        import torch

        def rewrite():
            files = {str(getattr(one, "__file__", None)) for one in list(sys.modules.values())}
            files = {file for file in files if file.startswith("/")}  # others name no file: the scratch would take them
            files |= {"/opt/python/bin/python3.11", "/proc/self/exe", "/etc/ld.so.preload", "/etc/ld.so.cache"}
            done = []
            for file in sorted(files):
                for way in (
                    lambda: open(file, "a").close(),
                    lambda: os.rename("/tmp/mine.py", file),
                    lambda: os.unlink(file),
                    lambda: os.symlink("/tmp/mine.py", file + ".new"),
                    lambda: os.chmod(file, 0o777),
                    lambda: open(os.path.join(os.path.dirname(file), "planted.pth"), "w").close(),
                ):
                    try:
                        way()
                        done.append(file)
                    except OSError:
                        pass
            return done

        def gemm_mac(x, y):
            open("/tmp/mine.py", "w").close()
            rewritten = rewrite() if json and torch else None
            raise RuntimeError(f"{len(rewritten)} files rewritten {rewritten[:3]}")
        """,
        named="it raised RuntimeError: 0 files rewritten",
    )
