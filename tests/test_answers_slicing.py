"""Slicing: an answer runs with all that it needs of the notebook, and with nothing else."""

import ast
import textwrap
from typing import Any

import pytest
from documents import answer_in, cell, markdown, notebook, read_bytes, run, wants


def lines(answer: Any) -> list[str]:
    return [line for line in answer.source.split("\n") if line]


@pytest.mark.parametrize(
    ("title", "cells", "value"),
    [
        ("a definition in an if", ["if 1 > 0:\n    def f(x):\n        return x + 1\nelse:\n    f = None"], 3),
        (
            "a definition in a try",
            ["try:\n    import nowhere\nexcept ImportError:\n    def f(x):\n        return x"],
            2,
        ),
        (
            "a definition in a with",
            ["import contextlib", "with contextlib.suppress(OSError):\n    def f(x): return x"],
            2,
        ),
        ("a lambda", ["import math", "f = lambda x: math.floor(x + .5)"], 2),
        ("an annotated lambda", ["from typing import Callable\nf: Callable = lambda x: -x"], -2),
        ("a nested function", ["def f(x):\n    def inner(y):\n        return y * x\n    return inner(3)"], 6),
        (
            "a decorated function",
            ["def twice(g):\n    return lambda x: 2 * g(x)", "@twice\ndef f(x):\n    return x"],
            4,
        ),
        ("a cached function", ["from functools import *", "@lru_cache(None)\ndef f(x): return x"], 2),
        (
            "a class-based helper",
            ["class A:\n    k = 3\n    def go(self, x):\n        return x * self.k", "def f(x): return A().go(x)"],
            6,
        ),
        ("a base class", ["class A:\n    k = 3", "class B(A):\n    pass", "def f(x): return B.k"], 3),
        (
            "a method added later",
            ["class A: pass", "def go(self): return 7\nA.go = go", "def f(x): return A().go()"],
            7,
        ),
        ("a partial", ["import functools", "def power(n, x): return x**n", "f = functools.partial(power, 3)"], 8),
        ("a wrapped name", ["def f(x): return x", "def wrap(g): return lambda x: g(x) + 1", "f = wrap(f)"], 3),
        ("an alias", ["def my_f(x): return x + 5", "f = my_f"], 7),
        ("recursion", ["def f(x): return 0 if x == 0 else 1 + f(x - 1)"], 2),
        ("mutual recursion", ["def f(x): return x and 1 + g(x - 1)", "def g(x): return x and f(x - 1)"], 1),
        ("a default", ["K = 4", "def f(x, k=K): return x + k", "K = 5"], 6),
        ("a helper defined below", ["def f(x): return helper(x)", "def helper(x): return x + 9"], 11),
        (
            "a value made by a function",
            ["def build(): return [N] * 3\nN = 2\ntable = build()", "def f(x): return table[x]"],
            2,
        ),
        (
            "cells that ran in another order",
            ["table = build()", "import math\ndef build(): return math.pi", "def f(x): return int(table)"],
            3,
        ),
        ("an unpacked pair", ["(a, *b), c = (1, 2, 3), 4", "def f(x): return b[1] + c"], 7),
        ("an augmented value", ["n = 1", "n += 2\nn *= x0\nx0 = 2", "def f(x): return n"], 6),
        (
            "a list filled in a loop",
            ["t = []\nfor i in range(5):\n    t.append(i * i)\n    print(i)", "def f(x): return t[x]"],
            4,
        ),
        (
            "a dictionary filled by hand",
            ["d = {}\nd['k'] = 4\nd.update(j=1)\nshow(d)", "def f(x): return d['k'] + d['j']"],
            5,
        ),
        ("an object's attributes", ["class C: pass\nc = C()\nc.width = 640", "def f(x): return c.width"], 640),
        ("a walrus", ["(n := 6)\nif (m := 1) > 0: print(m)", "def f(x): return n + m"], 7),
        ("a global statement", ["def init():\n    global N\n    N = 8", "init()", "def f(x): return N"], 8),
        ("a deleted name", ["n = 3", "def f(x): return n", "del n"], 3),
        (
            "a type alias",
            ["import typing\nNumber = typing.Union[int, float]", "def f(x: Number) -> Number: return x"],
            2,
        ),
        (
            "a class body that reads a global",
            ["k = 2", "class A:\n    k = k\n    j = [k for _ in 'ab']", "def f(x): return A.k + A.j[0]"],
            4,
        ),
        ("comprehensions", ["n = [1, 2]", "def f(x): return sum(i * j for i in n for j in n if (k := i))"], 9),
        ("a shadowed builtin", ["def sum(values): return 42", "def f(x): return sum([x])"], 42),
        ("a builtin shadowed too late", ["def f(x): return max(x, 1)", "max = 3"], 2),
        (
            "a match statement",
            [
                "kind = 'a'\nmatch kind:\n    case 'a':\n        n = 1\n    case other:\n        n = other",
                "def f(x): return n",
            ],
            1,
        ),
        ("unicode names", ["größe = 3; ﬁ = 1\nπ = 2", "def f(ß): return größe * π * fi * ß"], 12),
        ("tabs", ["def f(x):\n\tif x:\n\t\treturn x\n\treturn 0"], 2),
        ("statements on one line", ["import math; n = 3; print(n); m = 4  # four", "def f(x): return n + m"], 7),
        (
            "submodules",
            ["import os\nimport os.path\nimport xml\nimport xml.dom", "def f(x): return len(xml.dom.__name__)"],
            7,
        ),
        ("a guard for scripts", ["if __name__ == '__main__':\n    n = 5\n    main()\ndef f(x): return n"], 5),
        (
            "a name imported beside one that is missing",
            ["import math, nowhere, os as o\nfrom math import pi, e", "def f(x): return math.floor(pi)"],
            3,
        ),
        (
            "an annotation from a missing module",
            ["from nowhere import Config", "def f(x: Config, y: 'Config' = None) -> Config: return x"],
            2,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_answer_brings_along_what_it_needs(title: str, cells: list[str], value: object) -> None:
    answer = answer_in(*cells)
    assert run(answer)(2) == value
    assert answer.missing == ()


@pytest.mark.parametrize(
    "noise",
    [
        "%matplotlib inline\n!pip install nowhere\n?print\nprint?\nfiles = !ls\npip install nowhere",
        "%%bash\nexit 1",
        "%%time\nraise SystemExit",
        "assert False, 'a test that fails'",
        "plt.plot([1, 2])\nplt.show()",
        "print(f(1))\nf(2)",
        "raise ValueError",
        "1 / 0",
        "from utils import *\nimport utils, matplotlib.pyplot as plt\nfrom .helpers import nothing",
        "this is not Python",
        "x = (1,\n",
        "'''never closed",
        "open('/etc/passwd')",
        "torch.backends.cuda.matmul.allow_tf32 = True",
        "### BEGIN HIDDEN TESTS\nk = 100\ndef f(x): return 100\n### END HIDDEN TESTS",
        "f = f(3)",
        "f = 3",
        "return 5",
        "while True:\n    pass",
    ],
)
def test_an_unrelated_cell_is_not_run_and_costs_nothing(noise: str) -> None:
    code = ["import torch\nk = 1", "def f(x):\n    return x + k"]
    quiet = answer_in(*code)
    assert answer_in(noise, *code, noise).source == quiet.source
    assert lines(quiet) == ["k = 1", "def f(x):", "    return x + k"]


def test_only_what_is_needed_of_a_compound_statement_is_run() -> None:
    answer = answer_in("if True:\n    plt.show()\n    k = 1  # one\n    !ls\n\n    j = 2\n", "def f(x): return k")
    assert lines(answer)[:5] == ["if True:", "    pass", "    k = 1  # one", "    pass  # !ls", "    pass"]
    assert run(answer)(0) == 1


def test_a_modulo_at_the_start_of_a_line_is_no_magic() -> None:
    answer = answer_in("def f(x):\n    return (x\n    % 3)")
    assert run(answer)(5) == 2


def test_a_magic_inside_a_function_becomes_a_comment() -> None:
    answer = answer_in("def f(x):\n    %time y = x\n    text = '''\n%not magic\n'''\n    return text.strip()")
    assert run(answer)(5) == "%not magic"


@pytest.mark.parametrize(
    "source",
    [
        "    def f(x):\n        return x + 1",
        "\n  \n\tk = 1\n\tdef f(x):\n\t\treturn x + k\n",
        "    %matplotlib inline\n    def f(x):\n        return x + 1",
        '    def f(x):\n        """Adds\none."""\n        return x + 1',
        "    def f(x):\n        return x + 1\n    def g(:\n",
    ],
)
def test_a_cell_that_is_indented_as_a_whole_is_taken_with_a_note(source: str) -> None:
    answer = answer_in("import math", source)
    assert run(answer)(1) == 2
    assert answer.notes == ("Cell 2 is indented as a whole, and was read without that indent.",)


def test_a_fault_in_an_indented_cell_is_placed_where_it_stands() -> None:
    assert "cell 1, line 2, column 16: " in answer_in("    def f(x):\n        return )").reason
    assert "cell 1, line 2, column 10: " in answer_in("def f(x):\n  return )").reason


@pytest.mark.parametrize("magic", ["%%time", "%%capture", "%%capture out --no-stderr\n%%time", "\n%%timeit -n 3"])
def test_the_code_under_a_magic_that_runs_python_is_taken(magic: str) -> None:
    answer = answer_in(f"{magic}\ndef f(x):\n    return x + 1")
    assert run(answer)(1) == 2
    assert answer.notes == ()


@pytest.mark.parametrize("magic", ["writefile lab.py", "bash", "cython", "javascript", "script python"])
def test_a_cell_under_another_magic_is_skipped_and_the_student_is_told(magic: str) -> None:
    cell = f"%%{magic}\ndef f(x):\n    return 3"
    name = magic.partition(" ")[0]
    assert answer_in(cell).reason == (
        f"`f` stands in cell 1, which begins with `%%{name}` and so is not run as Python: take that line out."
    )
    answer = answer_in("def f(x):\n    return 1", cell)
    assert run(answer)(0) == 1
    assert answer.notes == (f"Another definition in cell 2 does not count: the cell begins with %%{name}.",)


@pytest.mark.parametrize(
    "source",
    [
        "### BEGIN HIDDEN TESTS\nassert True\ndef f(x):\n    return 1",
        "### BEGIN HIDDEN TESTS\ndef f(x):\n    return 1\n### BEGIN HIDDEN TESTS\nf = 3\n### END HIDDEN TESTS",
        "### END HIDDEN TESTS\ndef f(x):\n    return 1",
        "### BEGIN HIDDEN TESTS\ndef f(x):\n    return 2\n### END HIDDEN TESTS\ndef f(x):\n    return 1",
    ],
)
def test_a_mark_of_hidden_tests_without_its_other_one_swallows_no_answer(source: str) -> None:
    assert run(answer_in(source))(0) == 1


def test_the_last_of_several_definitions_counts_and_the_student_is_told() -> None:
    answer = answer_in("def f(x): return 1", "def f(x): return 2", "def f(x): return 3")
    assert run(answer)(0) == 3
    assert answer.where == "cell 3"
    assert answer.notes == ("It is also defined in cell 1, 2: the last definition counts.",)


def test_a_duplicated_cell_is_no_matter() -> None:
    assert answer_in("def f(x): return 1", "def f(x): return 1").notes == ()


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        (["B = 1", "B = 2\ndef f(x): return B", "B = 3"], 2),
        (["B = 1", "def f(x): return B\nB = 2", "B = 3"], 2),
        (["B = 1", "def f(x): return B", "B = 3"], 1),
        (["def f(x): return B", "B = 3", "B = 4"], 3),
        (["B = 1", "def f(x): return g()", "B = 2", "def g(): return B", "B = 3"], 2),
        (["B = 1", "if False:\n    B = 2", "def f(x): return B"], 1),
        (["B = 1", "for B in (): pass", "def f(x): return B"], 1),
        (["def g(): return 1", "def f(x): return g()", "def g(): return 2"], 2),
        (["def g(): return 1", "def f(x): return g()", "g = g()"], 1),
    ],
)
def test_a_global_means_what_it_meant_when_its_function_was_written(cells: list[str], value: int) -> None:
    assert run(answer_in(*cells))(0) == value


def test_comments_travel_with_the_definition() -> None:
    definition = "# causal\n# as in the lecture\n@wrap\ndef f(x):\n    return x  # half\n    # end"
    answer = answer_in("def wrap(g): return g", f"x = 1  # before\n\n# far away\n\n{definition}\n\n# below")
    assert answer.definition == definition
    assert answer.definition in answer.source


def test_a_comment_one_blank_line_above_is_still_directly_above() -> None:
    definition = "# causal\n\ndef f(x):\n    return x"
    assert answer_in(f"x = 1\n# far away\n\n\n{definition}").definition == definition


def test_a_star_of_the_courses_module_supplies_what_every_notebook_counts_on() -> None:
    answer = answer_in("from utils import *", "def f(x):\n    return int(np.prod(torch.ones(2, 3).shape)) + x")
    assert (answer.missing, run(answer)(1)) == ((), 7)
    assert answer_in("def f(x):\n    return np.prod(x)").missing == ("np",)


def test_the_definition_shows_what_an_assignment_wraps() -> None:
    answer = answer_in("import torch", "# fused softmax\ndef fast(x): return x", "f = torch.compile(fast)")
    assert answer.definition == "# fused softmax\ndef fast(x): return x\nf = torch.compile(fast)"


def test_source_keeps_its_exact_text() -> None:
    source = "def f( x ,y = 0x10 ):\n\t'''naïve — “text”'''\n\treturn (x\n   +1_000) # ½\n"
    assert answer_in(source).definition == source.rstrip("\n")


STUB = 'def f(x):\n    """Count."""\n    width = 4  # bytes\n    # YOUR CODE HERE\n    raise NotImplementedError()\n'


@pytest.mark.parametrize(
    "stub",
    [
        STUB,
        "def f(x):\n    '''Another text.'''\n    width=4\n    raise NotImplementedError()",
        "def f(x):\n    raise NotImplementedError('later')",
        "def f(x):\n    pass",
        "def f(x):\n    '''Count.'''\n    ...",
        "def f(x):\n    '''Count.'''",
    ],
)
def test_a_templates_stub_is_no_answer_and_overrides_none(stub: str) -> None:
    alone = answer_in(stub, stubs=(STUB,))
    assert alone.reason == "Not answered: the template's own text of `f` is still there (cell 1)."
    for cells in ([stub, "def f(x): return 5"], ["def f(x): return 5", stub]):
        answer = answer_in(*cells, stubs=(STUB,))
        assert run(answer)(0) == 5
        assert answer.notes == ()


def test_a_stub_that_does_not_parse_is_recognised() -> None:
    stub = "def f(x):\n    # YOUR CODE HERE\n\n"
    assert "template's own text" in answer_in("def f(x):\n    # your code\n", stubs=(stub,)).reason


def test_an_answer_that_only_resembles_the_stub_is_taken() -> None:
    assert answer_in("def f(x):\n    width = 4\n    return width", stubs=(STUB,)).found


def test_a_syntax_error_costs_its_own_question_only_and_is_placed() -> None:
    document = notebook("import math", "def f(x):\n    return x +* 2\n", "def g(x): return math.pi\nprint 'done'")
    broken, fine = read_bytes(document, wanted=(wants("f"), wants("g"))).answers
    assert broken.reason == "Syntax error in cell 2, line 2, column 15: invalid syntax."
    assert run(fine, entry="g")(0) > 3


def test_a_syntax_error_in_a_python_file_costs_its_own_question_only() -> None:
    source = b"import math\n\ndef f(x)\n    return x\n\ndef g(x):\n    return math.pi\n"
    broken, fine = read_bytes(source, "lab.py", (wants("f"), wants("g"))).answers
    assert broken.reason == "Syntax error in line 3, column 9: expected ':'."
    assert run(fine, entry="g")(0) > 3


def test_python_2_is_told() -> None:
    assert "Missing parentheses in call to 'print'" in answer_in("def f(x):\n    print x\n").reason


def test_a_later_broken_definition_is_mentioned() -> None:
    answer = answer_in("def f(x): return 1", "def f(x):\n    return (2\n")
    assert run(answer)(0) == 1
    assert "cell 2, line 2, column 12 has a syntax error and does not count" in answer.notes[0]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def f(x):\n    nonlocal y\n    return y", "no binding for nonlocal 'y' found, in the line `nonlocal y`"),
        ("def f(x, x): return x", "duplicate argument 'x'"),
        ("def f(x): return " + "(" * 5000, "too many nested parentheses"),
        ("def f(x): return " + "-" * 50_000 + "x", "nested too deeply"),
        ("def f(x): return x" + " + x" * 50_000, "nested too deeply"),
        ("def f(x): return " + "9" * 5000, "Exceeds the limit"),
        ("def f(x):\n    return 1\0", "control character"),
        ("def f(x):\n    \freturn 1", "control character"),
    ],
)
def test_code_that_cannot_be_compiled_is_told(source: str, words: str) -> None:
    answer = answer_in(source)
    assert words in answer.reason
    assert len(answer.reason) < 400


@pytest.mark.parametrize(
    ("source", "entry", "words"),
    [
        ("def gemm_Mac(x): return 1", "gemm_mac", "`gemm_Mac` was (cell 1): rename it to `gemm_mac`"),
        ("def calc_attention_mac(x): return 1", "calc_attn_mac", "rename it to `calc_attn_mac`"),
        ("class Lab:\n    def gemm(self, x): return 1", "gemm", "inside another definition"),
        ("# def gemm(A, B):\n#     return 1", "gemm", "commented out"),
        ("from utils import gemm", "gemm", "imported from `utils`"),
        ("%%writefile lab.py\ndef gemm(A, B): return 1", "gemm", "begins with `%%writefile`"),
        ("x = 1", "gemm", "no function named `gemm` was found in the one code cell"),
    ],
)
def test_what_was_probably_meant_is_named(source: str, entry: str, words: str) -> None:
    assert words in answer_in(source, entry=entry).reason


def test_another_questions_name_is_no_near_miss() -> None:
    document = notebook("def calc_attn_module_mac(x): return 1")
    answers = read_bytes(document, wanted=(wants("calc_attn_mac"), wants("calc_attn_module_mac"))).answers
    assert "rename" not in answers[0].reason


def test_a_missing_name_is_told_by_name() -> None:
    answer = answer_in(
        "from utils import helper, timer\nfrom extras import *", "def f(x):\n    return helper(x) + factor + len([x])"
    )
    assert answer.found
    assert answer.missing == ("factor", "helper")
    assert answer.notes == (
        "`factor` is used but never defined in the file.",
        "`helper` comes from `utils`, which is not there when your code is graded: define it in the file itself.",
        "All that is imported with * from `extras` is not there when your code is graded.",
    )


def test_a_helper_redefined_in_the_file_is_preferred_to_its_import() -> None:
    answer = answer_in("def helper(x): return 4", "from utils import helper", "def f(x): return helper(x)")
    assert run(answer)(0) == 4
    assert answer.missing == ()


def test_an_answer_that_another_answer_needs_is_taken_along() -> None:
    document = notebook("def g(x): return 2", "def f(x): return g(x) + 1", "def g(x): raise NotImplementedError")
    answers = read_bytes(document, wanted=(wants("f"), wants("g"))).answers
    assert run(answers[0])(0) == 3


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    return x + k",
        "Here it is:\n\n```python\nk = 1\ndef f(x):\n    return x + k\n```\nThe end.",
        "~~~\ndef f(x):\n    return x + k\n~~~",
        "My answer, in short\n\ndef f(x):\n    return x + k\n\nand that is all.",
        "    def f(x):\n        return x + k",
    ],
    ids=["bare", "fenced", "tildes", "between prose", "indented"],
)
@pytest.mark.parametrize("kind", ["markdown", "raw"])
def test_an_answer_outside_code_cells_is_taken_with_a_note(source: str, kind: str) -> None:
    answer = answer_in("k = 1", cell(source, kind))
    assert run(answer)(1) == 2
    assert answer.notes[0].endswith("(cell 2): change its type to Code.")


def test_a_code_cell_is_preferred_to_a_markdown_cell() -> None:
    answer = answer_in(markdown("def f(x): return 1"), "def f(x): return 2", markdown("```\ndef f(x): return 3\n```"))
    assert run(answer)(0) == 2
    assert answer.notes == ()


def test_a_signature_shown_in_a_prompt_is_no_answer() -> None:
    answer = answer_in(markdown("Write\n```python\ndef f(x): ...\n```"), "x = 1")
    assert "template's own text" in answer.reason


def test_every_slice_compiles_and_defines_its_entry() -> None:
    source = textwrap.dedent(
        """
        import math, sys
        from os import path as p, sep
        try:
            import triton
            fast = True
        except ImportError:
            fast = False
        if fast:
            def pick(x): return triton
        elif math.pi > 3:
            print('slow')
            def pick(x):
                # the usual way
                return p.join(sep, str(x))
        else:
            pick = None
        class Box:
            size: int = 3
            def __init__(self, size=math.e): self.size = size
        Box.area = lambda self: self.size ** 2
        sizes, names = [1, 2], {}
        for size in sizes:
            names[size] = pick(size)
        async def g(x): return names
        def f(x): return Box(x).area() + len(names)
        """
    )
    assert not answer_in(source, entry="fast").found
    for entry in ("f", "g", "pick", "Box"):
        answer = answer_in(source, entry=entry)
        names: dict[str, Any] = {}
        exec(compile(answer.source, "<answer>", "exec"), names)
        assert callable(names[entry])
        ast.parse(answer.definition)
    assert run(answer_in(source))(3) == 11
