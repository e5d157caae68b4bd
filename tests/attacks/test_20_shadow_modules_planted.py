"""Line 20. Plants modules under well-known names wherever Python, pytest or a linker might look."""

from court import Court


def test_no_planted_module_is_ever_imported(court: Court) -> None:
    court.withstands(
        "1.3",
        r"""
        import os
        import site
        import sys

        SOURCE = "import os; os._exit(0)\n"
        NAMES = [
            "sitecustomize.py", "usercustomize.py", "conftest.py", "torch.py", "json.py", "answer.py", "labcore.py",
            "planted.pth", "pytest.ini", "libc.so.6", "python311._pth", "pyvenv.cfg", "__init__.py", "numpy.py",
        ]

        def plant():
            home = os.path.expanduser("~")
            folders = ["", "/tmp", "/dev/shm", home, site.getusersitepackages(), home + "/.config", *sys.path]
            for folder in folders:
                for name in NAMES:
                    try:
                        os.makedirs(folder or ".", exist_ok=True)
                        with open(os.path.join(folder, name), "w") as file:
                            file.write("import os; os._exit(0)" if name.endswith(".pth") else SOURCE)
                    except OSError:
                        pass
            sys.path.insert(0, "/tmp")
            os.environ["PYTHONPATH"] = os.environ["PYTHONSTARTUP"] = "/tmp"

        def gemm_mac(x, y):
            plant()
            return 1
        """,
        named="wrong on drawn cases",
    )
