"""Line 22. Looks for the judge's files and code by way of other processes, open descriptors and loaded modules."""

from court import Court


def test_no_other_process_shows_its_files(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import inspect
        import os
        import sys

        def ways():
            me = {str(os.getpid()), "self", "thread-self"}
            for process in os.listdir("/proc") if os.path.isdir("/proc") else []:
                if process.isdigit() and process not in me:
                    yield process
            for descriptor in range(4, 0x1000):
                try:
                    os.fstat(descriptor)
                    yield f"descriptor {descriptor}"
                except OSError:
                    pass
            for name, module in list(sys.modules.items()):
                if name.split(".")[0] in ("grading", "worker", "api"):
                    yield inspect.getsource(module)
            for name in ("self/mountinfo", "self/cmdline", "self/cgroup", "self/mounts", "version", "mounts"):
                try:
                    with open("/proc/" + name) as file:
                        if "packs" in (text := file.read()) or "hidden" in text:
                            yield name
                except OSError:
                    pass

        def gemm_mac(x, y):
            found = list(ways())
            raise LookupError(f"{len(found)} ways to the judge {found[:3]}")
        """,
        named="it raised LookupError: 0 ways to the judge",
    )
