"""Line 21. Changes the environment of its process and of the C library for whatever is started or read later."""

from court import Court


def test_the_environment_is_read_before_any_answer(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import ctypes
        import os

        VARIABLES = {
            "LD_PRELOAD": "/tmp/mine.so", "PYTHONPATH": "/tmp", "PYTHONINSPECT": "1", "OMP_NUM_THREADS": "64",
            "CUDA_VISIBLE_DEVICES": "", "CUDA_LAUNCH_BLOCKING": "1", "TORCHINDUCTOR_CACHE_DIR": "/tmp",
            "TORCH_LOGS": "+all", "MALLOC_PERTURB_": "1", "ROOFLAB_SECRET": "known", "ROOFLAB_PACKS": "/tmp",
            "ROOFLAB_ALLOW_REDUCED_ISOLATION": "1",
        }

        def change():
            libc = ctypes.CDLL(None)
            for name, value in VARIABLES.items():
                os.environ[name] = value
                libc.setenv(name.encode(), value.encode(), 1)
            os.environ.pop("PATH", None)
            os.umask(0)
            return True

        done = change()

        def gemm_mac(x, y):
            return 1 if done else 2
        """,
        named="wrong on drawn cases",
    )
