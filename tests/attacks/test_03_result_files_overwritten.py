"""Line 3. Writes result files wherever judges look for them, and anything that looks like a database."""

from court import Court


def test_no_file_is_taken_for_a_result(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import json
        import os

        PLACES = [
            "results.json", "result.json", "score.txt", "display_runtime.txt", "report.xml", ".pytest_cache/results",
            "/autograder/results/results.json", "/results/results.json", "/output/results.json", "/tmp/results.json",
            "/dev/shm/results.json", "/var/lib/rooflab/rooflab.sqlite", "/data/rooflab.sqlite", "data/rooflab.sqlite",
            "/proc/self/cwd/results.json", "/proc/self/root/data/rooflab.sqlite", "/opt/rooflab/results.json",
            "../results.json", "/work/results.json", "/home/results.json", "/root/results.json",
        ]

        def overwrite():
            test = {"name": "1.3", "score": 5, "status": "passed"}
            right = json.dumps({"score": 5, "state": "passed", "tests": [test]})
            for place in PLACES:
                try:
                    os.makedirs(os.path.dirname(place) or ".", exist_ok=True)
                    with open(place, "w") as file:
                        file.write(right)
                except OSError:
                    pass

        def gemm_mac(x, y):
            overwrite()
            return 1
        """,
        named="wrong on drawn cases",
    )
