"""A pack proves itself: its form is checked in words, and its samples are graded by the real sandbox as they expect."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from grading import outline, pack
from grading.answers.model import Answers
from grading.grader import grade
from grading.outline import PackError
from grading.settings import Settings
from labcore.runner.protocol import Ending, Job, Observation
from worker.sandbox.slot import Slot

LAB1 = outline.find(Settings(), "lab1")


@pytest.fixture(scope="module")
def slot() -> Iterator[Slot]:
    with Slot() as slot:
        yield slot


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of Lab 1 that a test may spoil."""
    return Path(shutil.copytree(LAB1, tmp_path / "lab1"))


def nothing_runs(job: Job) -> Observation:
    return Observation(Ending.EXITED, ())


def changed(folder: Path, change: Callable[[dict], object]) -> Path:  # type: ignore[type-arg]
    lab = yaml.safe_load((folder / "lab.yaml").read_text())
    change(lab)
    (folder / "lab.yaml").write_text(yaml.safe_dump(lab, sort_keys=False))
    return folder


def test_lab1_is_graded_as_its_samples_expect(slot: Slot) -> None:
    assert pack.check(LAB1, slot.run) == []


def test_lab1_has_the_points_of_the_lab() -> None:
    read = outline.read(LAB1)
    points = {question.id: str(question.points) for question in read.questions}
    assert points == {
        "1.1": "5",
        "1.3": "5",
        "1.4": "5",
        "3.1a": "6",
        "3.1b": "4",
        "3.2": "5",
        "4.3.1": "3",
        "bonus-3.1": "2.5",
        "bonus-3.2": "2.5",
    }
    assert (read.out_of, read.bonus_out_of) == (Decimal(33), Decimal(5))
    assert all(question.prompt and question.stub and question.entry for question in read.questions)


@pytest.mark.parametrize("question", [question.id for question in outline.read(LAB1).questions])
def test_each_question_of_lab1_has_two_wrong_samples(question: str) -> None:
    expected = [yaml.safe_load(path.read_text()).get(question) for path in LAB1.glob("samples/*/expect.yaml")]
    wrong = [one for one in expected if one and one["state"] in ("failed", "partial")]
    assert len(wrong) >= 2


def test_a_sample_graded_otherwise_than_it_expects_is_told_in_words(copy: Path, slot: Slot) -> None:
    for sample in (copy / "samples").iterdir():
        if sample.name != "notebook":
            shutil.rmtree(sample)
    expect = copy / "samples" / "notebook" / "expect.yaml"
    expect.write_text(
        expect.read_text().replace('"1.3": {points: "5", state: passed}', '"1.3": {points: "4.5", state: partial}')
    )
    problems = pack.check(copy, slot.run)
    assert "sample notebook, question 1.3: points should be 4.5 and is 5: Equal to the count asked for." in problems
    assert any(
        problem.startswith("sample notebook, question 1.3: state should be partial and is passed")
        for problem in problems
    )
    assert "question 1.3: no sample is empty" in problems
    assert "question 1.4: no sample is perfect" in problems


def test_tolerances_that_let_half_precision_pass_are_refused(copy: Path) -> None:
    def loosen(lab: dict) -> None:  # type: ignore[type-arg]
        lab["questions"][0]["spec"]["tolerances"]["float32"]["relative"] = 0.01

    shutil.rmtree(copy / "samples")
    problems = pack.check(changed(copy, loosen), nothing_runs)
    assert any(problem.startswith("question 1.1: a float16 shortcut gets") for problem in problems)


SPOILED: dict[str, tuple[Callable[[dict], object], str]] = {  # type: ignore[type-arg]
    "unknown field": (lambda lab: lab["questions"][1].update(extra=1), "lab.yaml, question 1.3, extra: Extra inputs"),
    "points as a number": (
        lambda lab: lab["questions"][1].update(points=5),
        "question 1.3, points: points are a decimal in quotes",
    ),
    "points in exponents": (
        lambda lab: lab["questions"][1].update(points="1e9999"),
        "question 1.3, points: points are",
    ),
    "id twice": (lambda lab: lab["questions"][1].update(id="1.1"), "2 questions have the id '1.1'"),
    "entry twice": (lambda lab: lab["questions"][1].update(entry="gemm"), "2 questions have the entry 'gemm'"),
    "no prompt": (
        lambda lab: lab["questions"][1].update(prompt="absent.md"),
        "question 1.3, prompt: absent.md cannot be read",
    ),
    "a path": (
        lambda lab: lab["questions"][1].update(prompt="../lab.yaml"),
        "question 1.3, prompt: String should match",
    ),
    "unknown kind": (
        lambda lab: lab["questions"][1].update(kind="essay"),
        "question 1.3, kind: there is no kind 'essay'",
    ),
    "spec of the kind": (
        lambda lab: lab["questions"][0]["spec"].update(lopos=1),
        "question 1.1, spec, lopos: Extra inputs",
    ),
    "no module": (
        lambda lab: lab["questions"][0].update(module="absent"),
        "question 1.1, module: there is no hidden/absent.py",
    ),
    "no questions": (lambda lab: lab.update(questions=[]), "lab.yaml, questions: "),
    "title": (lambda lab: lab.update(title="Lab 1 Final Score"), "gradebooks drop columns"),
    "title like an id": (lambda lab: lab.update(title="Lab 1 (12)"), "assignment's id"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_what_is_wrong_with_a_pack_is_told_by_file_question_and_field(copy: Path, name: str) -> None:
    change, told = SPOILED[name]
    changed(copy, change)
    with pytest.raises(PackError) as caught:
        pack.load(copy)
    assert told in str(caught.value)
    assert pack.check(copy, nothing_runs) == str(caught.value).split("\n")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "lab.yaml"),
        ("[1, 2", "not readable"),
        ("a: &x [1]\nb: *x", "aliases are not taken"),
        ("name: a\nname: b", "'name' is given 2 times"),
        ("[" * 1000 + "]" * 1000, "nested deeper"),
        ("name: !!python/object/apply:os.system ['true']", "not readable"),
        ("name: 2026-01-01", "not readable"),
        ("x" * 300_000, "longer than"),
        ("\ud800", "not UTF-8"),
    ],
)
def test_yaml_that_is_hostile_or_broken_is_refused(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "lab.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(PackError, match=told):
        outline.read(tmp_path)


def test_a_module_that_raises_is_told(copy: Path) -> None:
    (copy / "hidden" / "gemm.py").write_text("1 / 0")
    with pytest.raises(PackError, match=r"question 1.1: hidden/gemm.py raises ZeroDivisionError"):
        pack.load(copy)


@pytest.mark.parametrize("name", ["../lab1", "", "absent", "Lab1", "lab1/hidden"])
def test_a_pack_is_found_by_a_plain_name_only(name: str) -> None:
    with pytest.raises(PackError):
        outline.find(Settings(), name)


def test_a_deployments_own_packs_are_used_where_it_has_some(copy: Path) -> None:
    assert outline.find(Settings(packs=copy.parent), "lab1") == copy


def test_the_public_part_is_read_without_torch_and_without_the_hidden_part(copy: Path) -> None:
    shutil.rmtree(copy / "hidden")
    shutil.rmtree(copy / "public")
    program = (
        "import sys, pathlib; from grading.outline import read; print(len(read(pathlib.Path(sys.argv[1])).questions));"
        "assert 'torch' not in sys.modules and 'grading.kinds' not in sys.modules"
    )
    ran = subprocess.run([sys.executable, "-c", program, str(copy)], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("9\n", "")


def test_digests_change_with_what_they_cover(copy: Path) -> None:
    before = pack.load(copy)
    with (copy / "hidden" / "gemm.py").open("a") as file:
        file.write("\n# changed\n")
    hidden = pack.load(copy)
    assert before.digest != hidden.digest
    assert before.outline.digest == hidden.outline.digest
    with (copy / "prompts" / "gemm.md").open("a") as file:
        file.write("\nMore.\n")
    prompt = pack.load(copy)
    assert len({before.outline.digest, prompt.outline.digest}) == 2
    assert len({before.digest, hidden.digest, prompt.digest}) == 3


def test_modules_of_two_packs_stand_apart_and_the_import_path_stays(copy: Path) -> None:
    path = list(sys.path)
    with (copy / "hidden" / "gemm.py").open("a") as file:
        file.write("\nMINE = True\n")
    first, second = pack.load(LAB1).questions[0].hidden, pack.load(copy).questions[0].hidden
    assert first is not second
    assert hasattr(second, "MINE") and not hasattr(first, "MINE")
    assert sys.path == path
    assert "gemm" not in sys.modules


def test_loading_leaves_no_file_in_a_pack(copy: Path) -> None:
    before = sorted(copy.rglob("*"))
    pack.load(copy)
    assert sorted(copy.rglob("*")) == before


def test_what_to_look_for_in_a_file_follows_the_outline() -> None:
    wanted = {one.question: one for one in outline.read(LAB1).wanted()}
    assert (wanted["3.1a"].heading, wanted["3.1b"].heading) == ("3.1", "3.1")
    assert wanted["3.1a"].entry == "scaled_dot_product_attention"
    assert wanted["1.1"].stubs and "NotImplementedError" in wanted["1.1"].stubs[0]


def test_a_whole_pack_is_what_the_grader_takes() -> None:

    verdicts = grade(
        pack.load(LAB1), Answers(answers=()), nothing_runs, b"seed", lambda question: 1, lambda judged: None
    )
    assert len(verdicts) == 9
