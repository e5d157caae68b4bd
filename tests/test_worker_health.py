"""A worker is healthy while it reaches database and broker and a warm sandbox of its own stands; else it is not."""

import os
from pathlib import Path

import pytest
from classroom import eventually
from test_worker import Deployment, Line, broker, deployment, on  # noqa: F401 -- fixtures

from grading.settings import Settings
from worker import health


def process(proc: Path, number: int, parent: int, *words: str) -> None:
    """A process as /proc shows it; its name holds what could be taken for the end of the name."""
    folder = proc / str(number)
    folder.mkdir()
    (folder / "cmdline").write_bytes(b"\0".join(word.encode() for word in words) + b"\0")
    (folder / "stat").write_text(f"{number} (a) b 7 (x) S {parent} 1 1 0\n")


def test_a_warm_parent_counts_where_it_comes_from_this_worker(tmp_path: Path) -> None:
    process(tmp_path, 1, 0, "init")
    process(tmp_path, 7, 1, "rooflab", "worker", "run")
    process(tmp_path, 8, 7, "rooflab", "worker", "run")
    process(tmp_path, 20, 1, "rooflab", "worker", "run")
    process(tmp_path, 21, 20, "python", "-m", "labcore.runner.zygote", "5")
    assert not health.stands(7, tmp_path)  # it is another worker's
    process(tmp_path, 9, 8, "python", "-m", "labcore.runner.zygote", "5")
    assert health.stands(7, tmp_path)


def test_word_grows_old_and_is_taken_back(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, sweep_seconds=10)
    assert health.reaching(settings) is None
    health.note(settings, 7)
    assert health.reaching(settings) == 7
    (word,) = (tmp_path / "run").iterdir()
    past = word.stat().st_mtime - 30
    os.utime(word, (past, past))
    assert health.reaching(settings) is None
    health.note(settings, 7)
    health.forget(settings)
    assert health.reaching(settings) is None


@on(("postgresql", "redis"))
@pytest.mark.parametrize("cut", ["broker_url", "database_url"])
def test_a_worker_that_is_cut_off_is_not_healthy_until_it_reaches_everything_again(
    deployment: Deployment,  # noqa: F811
    cut: str,
) -> None:
    with Line(getattr(deployment.settings, cut)) as line:
        deployment.settings = deployment.settings.model_copy(update={cut: line.url})
        worker = deployment.start_worker()
        eventually(lambda: health.reaching(deployment.settings) == worker.pid)
        line.cut()
        eventually(lambda: health.reaching(deployment.settings) is None)
        line.mend()
        eventually(lambda: health.reaching(deployment.settings) == worker.pid)
        worker.terminate()
        assert worker.wait(30) == 0
        assert health.reaching(deployment.settings) is None
