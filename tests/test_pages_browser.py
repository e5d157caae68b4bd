"""The pages in a real Chromium: handing in by mouse, by keyboard and without scripts; no page breaks a rule."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

import pytest
from pages_site import ANSWERS, HOSTILE, Site, current_grading_state, serving, usual
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
Open = Callable[..., "Watched"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Site]:
    with serving(tmp_path_factory.mktemp("site"), sqlite_template) as running:
        yield running


@pytest.fixture(scope="module")
def browser(chromium_path: Path) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium_path, args=ARGUMENTS)
        yield running
        running.close()


class Watched:
    """A browser window that fails its test when a script fails, the policy is broken, or a request is not answered."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.page: Page = context.new_page()
        self.troubles: list[str] = []
        self.page.set_default_timeout(15_000)
        self.page.on("console", lambda one: one.type in ("error", "warning") and self.troubles.append(one.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("requestfailed", lambda one: self.troubles.append(f"{one.url}: {one.failure}"))

    def __enter__(self) -> Page:
        return self.page

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.context.close()
        troubles = [one for one in self.troubles if "ERR_ABORTED" not in one]  # a poll that a navigation cut off
        assert kind is not None or not troubles, troubles


@pytest.fixture
def window(site: Site, browser: Browser) -> Open:
    """Opens a window, signed in as `login` if one is given."""

    def open_window(login: str | None = None, **options: object) -> Watched:
        context = browser.new_context(base_url=site.url, **options)  # type: ignore[arg-type]
        if login is not None:
            held = site.client(login).cookies["rooflab_session"]
            context.add_cookies([{"name": "rooflab_session", "value": held, "url": site.url, "httpOnly": True}])
        return Watched(context)

    return open_window


def answers_file(folder: Path) -> Path:
    file = folder / "my answers.py"
    file.write_text(ANSWERS)
    return file


def submission_of(page: Page) -> str:
    return page.url.rpartition("/")[2].partition("#")[0]


def test_a_file_is_handed_in_by_mouse_and_feedback_comes_without_reloading(
    site: Site, window: Open, tmp_path: Path
) -> None:
    with window() as page:
        page.goto("/labs/lab1")
        page.get_by_label("Personal token").fill(site.secrets["ada"])
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Lab 1")
        with page.expect_file_chooser() as chooser:
            page.get_by_label("Notebook, Python file, or a zip of them").click()
        chooser.value.set_files(answers_file(tmp_path))
        expect(page.locator(".drop-words").first).to_have_text("my answers.py is chosen.")
        page.get_by_role("button", name="Hand in", exact=True).click()
        expect(page.get_by_role("heading", level=2, name="In the queue")).to_be_visible()
        page.evaluate("window.stayed = true")
        claimed = site.claim(submission_of(page))
        site.progress(claimed, 1)
        expect(page.locator("#result .now")).to_have_text("1 of 3 questions judged.")
        expect(page.locator("#announce")).to_have_text("1 of 3 questions judged.")
        site.finish(claimed, usual())
        expect(page.locator(".grand")).to_have_text("8/ 10 points")
        expect(page.locator("#announce")).to_have_text("Graded: 8 of 10 points.")
        assert page.evaluate("window.stayed")
        page.get_by_text("Your answer as Rooflab read it").first.click()
        expect(page.get_by_role("region", name="Your answer to 1.3")).to_contain_text("x.shape[0]")
        page.get_by_role("link", name="History").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Your submissions")


def test_answers_are_pasted_by_keyboard_alone(site: Site, window: Open) -> None:
    with window("ada") as page:
        page.goto("/labs/lab1")
        page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_have_text("Skip to the content")
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
        tab_to(page, "summary", "Paste an answer to 1.3")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_have_attribute("name", "q-1.3")
        page.keyboard.insert_text("def gemm_mac(x, y):\n    return 42\n")
        tab_to(page, "button", "Hand in the pasted answers")
        page.keyboard.press("Enter")
        page.wait_for_url("**/submissions/*")
        site.finish(site.claim(submission_of(page)), usual())
        tab_to(page, "a", "1.4")
        page.keyboard.press("Enter")
        assert page.url.endswith("#q-1.4")


def tab_to(page: Page, tag: str, text: str) -> None:
    """Press Tab until the focus is there; what has the focus must always be seen to have it."""
    for _ in range(80):
        page.keyboard.press("Tab")
        state = page.evaluate(
            """() => {
                const one = document.activeElement;
                return [one.tagName.toLowerCase(), one.textContent, getComputedStyle(one).outlineStyle];
            }"""
        )
        assert state[0] == "body" or state[2] != "none", state
        if state[0] == tag and text in state[1]:
            return
    raise AssertionError(f"no {tag} {text!r} is reached by Tab")


def test_a_file_can_be_dropped_on_the_box(site: Site, window: Open) -> None:
    with window("ada") as page:
        page.goto("/labs/lab1")
        drop = """([names, text]) => {
            const carried = new DataTransfer();
            for (const name of names) carried.items.add(new File([text], name));
            const box = document.querySelector("[data-drop]");
            for (const kind of ["dragenter", "dragover", "drop"])
                box.dispatchEvent(new DragEvent(kind, {dataTransfer: carried, bubbles: true, cancelable: true}));
        }"""
        page.evaluate(drop, [["one.py", "two.py"], ANSWERS])
        expect(page.locator(".drop-words")).to_contain_text("One file at a time")
        page.evaluate(drop, [["dropped.py"], ANSWERS])
        expect(page.locator(".drop-words")).to_have_text("dropped.py is chosen.")
        expect(page.locator(":focus")).to_have_text("Hand in")
        page.keyboard.press("Enter")
        page.wait_for_url("**/submissions/*")
        expect(page.locator(".meta")).to_contain_text("dropped.py")
        site.finish(site.claim(submission_of(page)), usual())
        expect(page.locator(".grand")).to_be_visible()


def test_everything_works_without_javascript(site: Site, window: Open, tmp_path: Path) -> None:
    with window(java_script_enabled=False) as page:
        page.goto("/labs/lab1")
        page.get_by_label("Personal token").fill(site.secrets["bob"])
        page.get_by_role("button", name="Sign in").click()
        page.get_by_label("Notebook, Python file, or a zip of them").set_input_files(answers_file(tmp_path))
        page.get_by_role("button", name="Hand in", exact=True).click()
        expect(page.get_by_text("Yours is next.").last).to_be_visible()
        site.finish(site.claim(submission_of(page)), usual())
        expect(page.locator(".grand")).to_have_text("8/ 10 points")  # the page asks again by itself
        page.get_by_role("link", name="Hand in again").click()
        page.get_by_text("Paste an answer to 1.4").click()
        page.get_by_label("Your gemm_io").fill("def gemm_io(A, B):\n    return 0\n")
        page.get_by_role("button", name="Hand in the pasted answers").click()
        page.wait_for_url("**/submissions/*")
        site.finish(site.claim(submission_of(page)), usual())
        page.get_by_role("link", name="Look again now").click()
        expect(page.locator(".grand")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")


def test_a_second_press_does_not_hand_in_twice(site: Site, window: Open, tmp_path: Path) -> None:
    with window("hex") as page:
        page.goto("/labs/lab1")
        page.get_by_label("Notebook, Python file, or a zip of them").set_input_files(answers_file(tmp_path))
        page.evaluate("for (let i = 0; i < 3; i++) document.querySelector('#file-form button').click()")
        page.wait_for_url("**/submissions/*")
        site.finish(site.claim(submission_of(page)), usual())
        page.goto("/labs/lab1/history")
        expect(page.locator(".history > li")).to_have_count(1)


def test_a_refusal_takes_the_reader_to_words_beside_the_field(window: Open, tmp_path: Path) -> None:
    watched = window("ada")
    with watched as page:
        page.goto("/labs/lab1")
        (tmp_path / "empty.ipynb").write_text("")
        field = page.get_by_label("Notebook, Python file, or a zip of them")
        field.set_input_files(tmp_path / "empty.ipynb")
        with page.expect_response(lambda answer: answer.status == 422):
            page.get_by_role("button", name="Hand in", exact=True).click()
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(page.locator("#file-problem")).to_contain_text("empty")
        watched.troubles = [one for one in watched.troubles if "status of 422" not in one]  # the browser notes it


def test_a_session_that_ends_while_waiting_leads_to_signing_in(site: Site, window: Open) -> None:
    watched = window("bob")
    with watched as page:
        submission = site.hand_in(site.client("bob"))
        page.goto(f"/submissions/{submission}")
        expect(page.get_by_text("Yours is next.").last).to_be_visible()
        page.context.clear_cookies()
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        assert page.url.endswith(f"/login?next=/submissions/{submission}")
        watched.troubles = [one for one in watched.troubles if "status of 401" not in one]  # the browser notes it
        site.finish(site.claim(submission), usual())


@pytest.fixture(scope="module")
def everywhere(site: Site) -> dict[str, tuple[str, str]]:
    """A page of each kind with hostile text in it, as name -> (who looks, address)."""
    code = f"# {HOSTILE}\ndef gemm_mac(x, y):\n    return 1  # {'w' * 3000}\n"
    submission = site.hand_in(site.client("hex"), code, "a" * 120 + "<b>\"'.py")
    verdicts = usual()
    change = {
        "headline": HOSTILE,
        "remarks": (HOSTILE, "x" * 2000),
        "needs_review": HOSTILE,
        "evidence": {"a": HOSTILE},
    }
    verdicts[0] = verdicts[0].model_copy(update=change)
    site.finish(site.claim(submission), verdicts)
    failed = site.hand_in(site.client("hex"))
    site.fail(site.claim(failed), HOSTILE)
    waiting = site.hand_in(site.client("bob"))
    assert current_grading_state(site, waiting) == "queued"
    return {
        "login": ("", "/login"),
        "labs": ("hex", "/"),
        "no labs": ("eve", "/"),
        "labs for staff": ("amy", "/"),
        "lab": ("hex", "/labs/lab1"),
        "closed lab": ("hex", "/labs/over"),
        "history": ("hex", "/labs/lab1/history"),
        "no history": ("hex", "/labs/once/history"),
        "feedback": ("hex", f"/submissions/{submission}"),
        "feedback for staff": ("amy", f"/submissions/{submission}"),
        "our fault": ("amy", f"/submissions/{failed}"),
        "waiting": ("bob", f"/submissions/{waiting}"),
        "account": ("hex", "/account"),
        "scoreboard": ("tam", "/staff/labs/lab1"),
        "a student": ("tam", "/staff/labs/lab1/students/hex"),
        "a student without submissions": ("tam", "/staff/labs/once/students/hex"),
        "nobody matches": ("tam", "/staff/labs/lab1?name=nobody"),
        "roster": ("tam", "/staff/courses/gpu/roster"),
        "clients": ("amy", "/staff/courses/gpu/clients"),
    }


RULES = """() => {
    const faults = [];
    const all = (selector) => [...document.querySelectorAll(selector)];
    if (window.hacked) faults.push("a script of a student ran");
    if (all("h1").length !== 1) faults.push(`${all("h1").length} h1`);
    let before = 0;
    for (const heading of all("h1, h2, h3, h4, h5, h6")) {
        const level = Number(heading.tagName[1]);
        if (level > before + 1) faults.push(`h${level} after h${before}: ${heading.textContent.trim()}`);
        before = level;
    }
    for (const landmark of ["header", "main", "footer"])
        if (all(landmark).length !== 1) faults.push(`no single ${landmark}`);
    for (const field of all("input:not([type=hidden]), select, textarea"))
        if (!field.labels?.length && !field.getAttribute("aria-label")) faults.push(`no label: ${field.outerHTML}`);
    for (const one of all("a, button, summary"))
        if (!one.textContent.trim()) faults.push(`no name: ${one.outerHTML}`);
    for (const one of all("[aria-describedby], [aria-labelledby]"))
        for (const attribute of ["aria-describedby", "aria-labelledby"])
            for (const id of (one.getAttribute(attribute) ?? "").split(" ").filter(Boolean))
                if (!document.getElementById(id)) faults.push(`${attribute} names ${id}, which is not there`);
    const ids = all("[id]").map((one) => one.id);
    for (const id of new Set(ids)) if (ids.filter((one) => one === id).length > 1) faults.push(`two of id ${id}`);
    for (const one of all("[style], style, script:not([src])")) faults.push(`inline: ${one.outerHTML}`);
    for (const cell of all("th")) if (!cell.scope) faults.push(`no scope: ${cell.outerHTML}`);
    if (!document.documentElement.lang) faults.push("no language");
    if (!document.title.endsWith("Rooflab") || document.title.length < 12) faults.push(`title ${document.title}`);
    const wider = document.documentElement.scrollWidth - innerWidth;
    if (wider > 0) faults.push(`${wider} px wider than the window`);
    for (const one of all("a.button, button:not(.link), input:not([type=hidden]):not([type=checkbox]), summary"))
        if (one.getClientRects().length && one.getBoundingClientRect().height < 24)
            faults.push(`too small to hit: ${one.outerHTML}`);
    return faults;
}"""


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (360, "dark"), (1440, "dark")])
def test_every_page_keeps_the_rules(
    window: Open, everywhere: dict[str, tuple[str, str]], width: int, scheme: str
) -> None:
    faults: dict[str, list[str]] = {}
    for login in sorted({who for who, _ in everywhere.values()}):
        options = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
        with window(login or None, **options) as page:
            for name, (who, address) in everywhere.items():
                if who == login:
                    page.goto(address)
                    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
                    faults[name] = page.evaluate(RULES)
                    picture(page, name, width, scheme)
    assert {name: found for name, found in faults.items() if found} == {}


def test_text_that_is_really_shown_has_enough_contrast(window: Open, everywhere: dict[str, tuple[str, str]]) -> None:
    measure = """() => {
        const parse = (text) => text.match(/[\\d.]+/g).map(Number);
        const light = ([r, g, b]) => [r, g, b].map((one) => one / 255)
            .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
            .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
        const ground = (one) => {
            for (; one; one = one.parentElement) {
                const colour = parse(getComputedStyle(one).backgroundColor);
                if (colour.length === 3 || colour[3] === 1) return colour;
            }
            return [255, 255, 255];
        };
        const weak = new Set();
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            const one = node.parentElement;
            if (!node.textContent.trim() || !one.checkVisibility()) continue;
            if (one.closest("svg, .visually-hidden, .skip")) continue;
            const [a, b] = [light(parse(getComputedStyle(one).color)), light(ground(one))].sort((x, y) => x - y);
            const ratio = (b + 0.05) / (a + 0.05);
            if (ratio < 4.5) weak.add(`${ratio.toFixed(2)} ${one.className} ${node.textContent.trim().slice(0, 40)}`);
        }
        return [...weak];
    }"""
    weak: dict[str, list[str]] = {}
    for scheme in ("light", "dark"):
        for name in ("feedback for staff", "our fault", "clients", "scoreboard", "labs for staff", "a student"):
            who, address = everywhere[name]
            with window(who, color_scheme=scheme) as page:
                page.goto(address)
                weak[f"{name}, {scheme}"] = page.evaluate(measure)
    assert {name: found for name, found in weak.items() if found} == {}


def test_the_policy_stops_a_script_that_escaping_would_have_let_through(window: Open) -> None:
    """A way in is made by hand, since no page has one: the second wall holds."""
    watched = window("ada")
    with watched as page:
        page.goto("/")
        page.evaluate(
            """() => {
                const image = document.createElement("img");
                image.setAttribute("onerror", "window.hacked = 1");
                image.src = "/nowhere.png";
                document.body.append(image);
                const script = document.createElement("script");
                script.textContent = "window.hacked = 1";
                document.body.append(script);
            }"""
        )
        page.wait_for_function("performance.getEntriesByName(location.origin + '/nowhere.png').length > 0")
        assert page.evaluate("window.hacked") is None
        assert any(re.search("Content Security Policy", one) for one in watched.troubles)
        watched.troubles.clear()


def test_the_scoreboard_scrolls_inside_its_own_box_and_keeps_names_in_sight(
    window: Open, everywhere: dict[str, tuple[str, str]]
) -> None:
    who, address = everywhere["scoreboard"]
    with window(who, viewport={"width": 360, "height": 800}) as page:
        page.goto(address)
        places = page.evaluate(
            """() => {
                const box = document.querySelector(".board");
                box.scrollLeft = 200;
                const name = box.querySelector("tbody th").getBoundingClientRect();
                return [box.scrollLeft, Math.round(name.left - box.getBoundingClientRect().left)];
            }"""
        )
    assert places[0] > 50
    assert places[1] <= 1


def picture(page: Page, name: str, width: int, scheme: str) -> None:
    """Keep what was seen, where somebody asked for pictures: ROOFLAB_PICTURES is a folder."""
    folder = os.environ.get("ROOFLAB_PICTURES")
    if folder:
        page.screenshot(path=Path(folder) / f"{name.replace(' ', '-')}-{width}-{scheme}.png", full_page=True)
