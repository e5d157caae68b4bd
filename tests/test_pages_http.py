"""The pages by plain HTTP: who gets in, what a forged form is told, refusals in words, escaping everywhere."""

import io
import re
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from html import unescape
from pathlib import Path

import anyio
import httpx
import pytest
from fastapi.routing import APIRoute
from pages_site import HOSTILE, Site, csrf, current_grading_state, serving, usual

from api.app import make_app
from grading.answers.reading import MAX_PASTED
from grading.store import gradings, people, tokens
from grading.store.session import transaction
from grading.store.tables import Member, Role
from grading.verdict import State


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Site]:
    with serving(tmp_path_factory.mktemp("site"), sqlite_template) as running:
        yield running


def words(html: str) -> str:
    """What a reader reads."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_a_stranger_is_sent_to_sign_in_and_comes_back(site: Site) -> None:
    client = site.client()
    answer = client.get("/labs/lab1/history?x=1")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=/labs/lab1/history%3Fx%3D1")
    form = client.get(answer.headers["location"])
    assert 'name="next" value="/labs/lab1/history?x=1"' in form.text
    signed = client.post("/login", data={"token": site.secrets["ada"], "next": "/labs/lab1/history?x=1"})
    assert (signed.status_code, signed.headers["location"]) == (303, "/labs/lab1/history?x=1")


def test_the_session_cookie_is_out_of_scripts_reach_and_signing_out_ends_it(site: Site) -> None:
    client = site.client()
    answer = client.post("/login", data={"token": f"  {site.secrets['ada']}\n"})
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert site.secrets["ada"] not in answer.headers["set-cookie"]
    held = dict(client.cookies)
    assert client.post("/logout", data={"csrf": csrf(client, "/")}).status_code == 303
    assert httpx.get(f"{site.url}/", cookies=held).status_code == 303


@pytest.mark.parametrize("token", ["", "not a token", "rooflab_pat_" + "0" * 36, "é" * 40])
def test_a_wrong_token_is_told_next_to_the_field(site: Site, token: str) -> None:
    answer = site.client().post("/login", data={"token": token})
    assert answer.status_code == 401
    assert 'aria-describedby="token-problem' in answer.text
    assert token == "" or token not in answer.text


@pytest.mark.parametrize(
    "next",
    ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/a\r\nSet-Cookie: x", ""],
)
def test_signing_in_never_leads_to_another_site(site: Site, next: str) -> None:
    answer = site.client().post("/login", data={"token": site.secrets["ada"], "next": next})
    assert answer.headers["location"] == "/"


def test_the_token_of_another_session_does_not_open_a_form(site: Site) -> None:
    other = csrf(site.client("ada"), "/")
    assert site.client("ada").post("/account/tokens", data={"csrf": other, "name": "x"}).status_code == 403


def test_a_form_sent_by_another_site_is_refused(site: Site) -> None:
    client = site.client("ada")
    answer = client.post(
        "/account/tokens", data={"csrf": csrf(client, "/"), "name": "x"}, headers={"Origin": "https://evil.example"}
    )
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "path", ["/", "/login", "/labs/lab1", "/account", "/nowhere", "/static/style.css", "/static/htmx.min.js"]
)
def test_every_answer_carries_the_security_headers(site: Site, path: str) -> None:
    headers = site.client("ada").get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert "referrer-policy" in headers


@pytest.mark.parametrize(
    ("login", "path", "status"),
    [
        ("ada", "/staff/labs/lab1", 403),
        ("ada", "/staff/courses/gpu/roster", 403),
        ("tam", "/staff/courses/gpu/clients", 403),
        ("eve", "/labs/lab1", 404),
        ("eve", "/staff/labs/lab1", 404),
        ("eve", "/staff/courses/gpu/roster", 404),
        ("ada", "/submissions/" + "0" * 32, 404),
        ("ada", "/labs/no-such-lab", 404),
        ("ada", "/nowhere", 404),
    ],
)
def test_what_is_not_yours_is_an_error_page_in_the_same_layout(site: Site, login: str, path: str, status: int) -> None:
    answer = site.client(login).get(path)
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.text.count("<h1>") == 1
    assert 'href="#main"' in answer.text


def test_a_submission_is_its_owners_and_the_staffs_alone(site: Site) -> None:
    submission = site.graded("ada")
    for path in (f"/submissions/{submission}", f"/submissions/{submission}/progress"):
        assert site.client("bob").get(path).status_code == 404
        assert site.client("eve").get(path).status_code == 404
        assert site.client("tam").get(path).status_code == 200
        assert site.client("ada").get(path).status_code == 200


def test_evidence_reasons_for_review_and_labels_of_drawn_cases_are_for_staff_alone(site: Site) -> None:
    submission = site.graded("ada")
    own = site.client("ada").get(f"/submissions/{submission}").text
    staff = site.client("tam").get(f"/submissions/{submission}").text
    for secret in ("4NK + 4KM", "staff alone may read this reason", "secret sizes 77×13"):
        assert secret not in own
        assert secret in staff


def test_feedback_says_state_points_reason_diagnosis_cases_and_what_is_pending(site: Site) -> None:
    submission = site.graded("ada")
    shown = words(site.client("ada").get(f"/submissions/{submission}").text)
    for part in (
        "8 / 10 points",
        "0 / 2.5 bonus, counted apart",
        "5 points still pending: a person will look at 1.4",
        "partial 3 / 5",
        "One term is missing.",
        "Short of 4·N·M bytes: the output is never written.",
        "The public case does not pass. The drawn case does not pass.",
        "got 2097152, expected 3145728",
        "The public case passes. The drawn case passes.",
        "No definition of more was found.",
        "return x.shape[0] * x.shape[1] * y.shape[1]",
    ):
        assert part in shown, part
    assert "all tests pass" not in shown.lower()


def test_isolation_that_was_not_full_is_told_to_the_student_and_on_the_scoreboard(site: Site) -> None:
    submission = site.hand_in(site.client("ada"))
    site.finish(site.claim(submission), usual(), isolation="reduced")
    assert "reduced isolation" in site.client("ada").get(f"/submissions/{submission}").text
    other = site.graded("ada")
    assert "isolation" not in words(site.client("ada").get(f"/submissions/{other}").text)


def test_a_fault_of_ours_is_told_as_ours_and_its_cause_to_staff_alone(site: Site) -> None:
    submission = site.hand_in(site.client("bob"))
    site.fail(site.claim(submission), "the sandbox did not start")
    own = words(site.client("bob").get(f"/submissions/{submission}").text)
    assert "it is our fault" in own
    assert "costs you nothing" in own
    assert "the sandbox did not start" not in own
    board = words(site.client("tam").get("/staff/labs/lab1").text)
    assert "the sandbox did not start" in board
    assert "/retry" not in site.client("bob").get(f"/submissions/{submission}").text


@pytest.mark.parametrize("where", ["its own page", "the scoreboard", "the scoreboard, all at once"])
def test_staff_have_a_failed_grading_done_again_where_they_see_it(site: Site, where: str) -> None:
    failed = [site.hand_in(site.client("bob")) for _ in range(2)]
    for submission in failed:
        site.fail(site.claim(submission), "the sandbox did not start")
    submission, other = failed
    client = site.client("tam")
    page = f"/submissions/{submission}" if where == "its own page" else "/staff/labs/lab1"
    action = "/staff/labs/lab1/retry" if "all" in where else f"/submissions/{submission}/retry"
    form = client.get(page).text.partition(f'action="{action}"')[2].partition("</form>")[0]
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
    reason = {"reason": "<disk> full"} if 'name="reason"' in form else {}
    done = client.post(action, data=fields | reason)
    assert (done.status_code, done.headers["location"]) == (303, page)
    assert "In the queue" in client.get(f"/submissions/{submission}").text
    assert current_grading_state(site, other) == ("queued" if "all" in where else "failed")
    told = "again after a fault of ours: <disk> full, asked for by Tam Tutor"
    assert (told in words(client.get(f"/submissions/{submission}").text)) == bool(reason)
    assert "Tam Tutor" not in site.client("bob").get(f"/submissions/{submission}").text
    assert client.post(f"/submissions/{submission}/retry", data=fields).status_code == 409
    site.finish(site.claim(submission), usual())
    assert "8 / 10 points" in words(site.client("bob").get(f"/submissions/{submission}").text)


def test_a_question_that_a_fault_of_ours_met_is_open_and_staff_have_it_graded_again(site: Site) -> None:
    verdicts = usual()
    met = {"state": State.OURS, "points": Decimal(0), "evidence": {"fault": "sandbox: gone"}, "needs_review": None}
    submission = site.graded("bob", [verdicts[0].model_copy(update=met), *verdicts[1:]])
    own = words(site.client("bob").get(f"/submissions/{submission}").text)
    assert "/ 5 points" in own and "– / 5" in own and "this costs you no points" in own
    assert "sandbox" not in own and "Grade again" not in own
    client = site.client("tam")
    assert "1.3: sandbox: gone" in words(client.get("/staff/labs/lab1").text)
    page = client.get(f"/submissions/{submission}").text
    form = page.partition(f'action="/submissions/{submission}/retry"')[2].partition("</form>")[0]
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
    assert client.post(f"/submissions/{submission}/retry", data=fields).status_code == 303
    assert "/ 5 points" in words(site.client("bob").get(f"/submissions/{submission}").text)
    assert "sandbox: gone" not in client.get("/staff/labs/lab1").text
    assert client.post(f"/submissions/{submission}/retry", data=fields).status_code == 409


def test_progress_answers_only_when_something_has_changed(site: Site) -> None:
    client = site.client("ada")
    submission = site.hand_in(client)
    page = client.get(f"/submissions/{submission}").text
    address = unescape(page.partition('hx-get="')[2].partition('"')[0])
    assert client.get(address).status_code == 204
    claimed = site.claim(submission)
    site.progress(claimed, 2)
    changed = client.get(address)
    assert "2 of 3 questions judged." in changed.text
    assert "<html" not in changed.text
    site.finish(claimed, usual())
    assert "Graded: 8 of 10 points." in client.get(address).text
    assert current_grading_state(site, submission) == "graded"


def test_a_page_that_waits_tells_its_place_in_the_queue(site: Site) -> None:
    first = site.hand_in(site.client("bob"))
    client = site.client("ada")
    second = site.hand_in(client)
    assert "Yours is next." in site.client("bob").get(f"/submissions/{first}").text
    assert "1 submission is graded before yours." in client.get(f"/submissions/{second}").text
    site.finish(site.claim(first), usual())
    site.finish(site.claim(second), usual())


def zipped(*names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(name, '{"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}')
    return made.getvalue()


@pytest.mark.parametrize(
    ("filename", "raw", "status", "part"),
    [
        ("", b"", 422, "Choose a file first."),
        ("empty.ipynb", b"", 422, "is empty"),
        ("cut.ipynb", b'{"cells": [', 422, "cut short"),
        ("two.zip", zipped("local.ipynb", "colab.ipynb"), 422, "local.ipynb"),
        ("picture.py", b"\x89PNG\r\n\x1a\n" + bytes(99), 422, "Hand in the notebook"),
        ("large.py", b"#" * (2 * 1024 * 1024 + 1), 413, "MB"),
        ("larger.py", b"#" * (4 * 1024 * 1024), 413, "MB"),
    ],
)
def test_a_refusal_stands_next_to_the_field_in_words(
    site: Site, filename: str, raw: bytes, status: int, part: str
) -> None:
    client = site.client("ada")
    before = client.get("/labs/lab1/history").text.count('class="card')
    form = {"csrf": csrf(client, "/labs/lab1")}
    answer = client.post("/labs/lab1/submissions", data=form, files={"file": (filename, raw)})
    assert answer.status_code == status
    problem = answer.text.partition('id="file-problem"')[2].partition("</p>")[0]
    assert part in unescape(problem)
    assert client.get("/labs/lab1/history").text.count('class="card') == before


def test_pasted_answers_are_taken_together_and_shown_back(site: Site) -> None:
    client = site.client("ada")
    form = {"csrf": csrf(client, "/labs/lab1"), "q-1.3": "def gemm_mac(x, y):\r\n    return 7\r\n", "q-1.4": "  "}
    answer = client.post("/labs/lab1/pasted", data=form, files={})
    assert answer.status_code == 303
    submission = answer.headers["location"].rpartition("/")[2]
    site.finish(site.claim(submission), usual())
    assert "return 7" in client.get(answer.headers["location"]).text


def test_pasting_nothing_or_too_much_is_refused_and_the_text_is_kept(site: Site) -> None:
    client = site.client("ada")
    token = csrf(client, "/labs/lab1")
    empty = client.post("/labs/lab1/pasted", data={"csrf": token, "q-1.3": "\n"})
    assert (empty.status_code, "Nothing is pasted yet" in empty.text) == (422, True)
    long = client.post("/labs/lab1/pasted", data={"csrf": token, "q-1.3": "#" * (MAX_PASTED + 1), "q-1.4": "x = 1"})
    assert long.status_code == 422
    assert 'id="q-1.3-problem"' in long.text
    assert 'id="q-1.4-problem"' not in long.text
    assert re.search(r"<textarea[^>]*>\nx = 1</textarea>", long.text)


def test_a_lab_with_one_attempt_closes_after_it(site: Site) -> None:
    client = site.client("ada")
    form = {"csrf": csrf(client, "/labs/once")}
    sent = {"file": ("a.py", b"def gemm_mac(x, y):\n    return 1\n")}
    first = client.post("/labs/once/submissions", data=form, files=sent)
    assert first.status_code == 303
    site.finish(site.claim(first.headers["location"].rpartition("/")[2]), usual())
    assert client.post("/labs/once/submissions", data=form, files=sent).status_code == 409
    shown = client.get("/labs/once").text
    assert "You have used all 1 of your submissions." in shown
    assert 'type="file"' not in shown


def test_a_closed_lab_says_so_and_takes_nothing(site: Site) -> None:
    client = site.client("ada")
    shown = client.get("/labs/over").text
    assert "its due time has passed" in shown
    sent = {"file": ("a.py", b"x = 1")}
    answer = client.post("/labs/over/submissions", data={"csrf": csrf(client, "/")}, files=sent)
    assert answer.status_code == 409


def test_a_late_submission_shows_what_its_points_count_as(site: Site) -> None:
    client = site.client("ada")
    sent = {"file": ("a.py", b"def gemm_mac(x, y):\n    return 1\n")}
    answer = client.post("/labs/dear/submissions", data={"csrf": csrf(client, "/")}, files=sent)
    site.finish(site.claim(answer.headers["location"].rpartition("/")[2]), usual())
    shown = words(client.get(answer.headers["location"]).text)
    assert "these 8 points count as 7.2" in shown
    assert "latest submission counts: number 1" in client.get("/labs/dear/history").text


def test_the_history_says_which_submission_counts_and_why(site: Site) -> None:
    better = usual()
    better[1] = better[1].model_copy(update={"points": better[1].out_of, "state": State.PASSED})
    best = site.graded("bob", better)
    site.graded("bob")
    shown = site.client("bob").get("/labs/lab1/history").text
    counting = shown.partition('class="card counts"')[2].partition("</li>")[0]
    assert best in counting
    assert "has the most points" in shown


def test_due_times_are_told_in_the_courses_zone(site: Site) -> None:
    shown = site.client("ada").get("/").text
    assert re.search(r"\(America/Los_Angeles, P[SD]T\)", shown)
    assert "in 3 days" in shown


def test_who_is_in_no_course_is_told_what_to_do(site: Site) -> None:
    shown = words(site.client("eve").get("/").text)
    assert "Ask your course staff to put your login eve on the roster" in shown


def test_a_course_without_a_lab_is_shown_with_what_to_do(site: Site) -> None:
    parts = {login: site.client(login).get("/").text.partition("Course to come")[2] for login in ("ada", "tam", "amy")}
    links = {login: re.findall(r'href="(/staff/courses/soon/\w+)"', part) for login, part in parts.items()}
    roster, clients = "/staff/courses/soon/roster", "/staff/courses/soon/clients"
    assert links == {"ada": [], "tam": [roster, roster], "amy": [roster, clients, roster]}
    assert "There is nothing to hand in so far" in parts["ada"]
    assert "Course to come" not in site.client("bob").get("/").text


def test_the_scoreboard_filters_by_what_the_address_says(site: Site) -> None:
    site.graded("ada")
    client = site.client("tam")
    names = {
        query: [name for name in ("Ada Lovelace", "Bob Bitter") if name in client.get(f"/staff/labs/once?{query}").text]
        for query in ("", "name=LOVE", "section=B", "show=missing", "name=nobody")
    }
    assert names[""] == ["Ada Lovelace", "Bob Bitter"]
    assert names["name=LOVE"] == ["Ada Lovelace"]
    assert names["section=B"] == ["Bob Bitter"]
    assert "Bob Bitter" in names["show=missing"]
    assert names["name=nobody"] == []
    assert "Nobody matches" in client.get("/staff/labs/once?name=nobody").text


def test_the_scoreboard_leads_to_a_students_whole_history_and_to_what_counts(site: Site) -> None:
    submissions = {site.graded("bob"), site.graded("bob")}
    own = site.client("bob").get("/labs/lab1/history").text
    [best] = re.findall(r"/submissions/(\w+)", own.partition('class="card counts"')[2].partition("</li>")[0])
    client = site.client("tam")
    row = client.get("/staff/labs/lab1?name=bob").text.partition("<tbody>")[2].rpartition("</tbody>")[0]
    assert re.findall(r'href="([^"]+)"', row[row.rindex("<tr>") :]) == [
        "/staff/labs/lab1/students/bob",
        f"/submissions/{best}",
    ]
    shown = client.get("/staff/labs/lab1/students/bob").text
    assert best in shown.partition('class="card counts"')[2].partition("</li>")[0]
    assert submissions <= set(re.findall(r"/submissions/(\w+)", shown))
    assert "the best submission counts" in words(shown)
    assert "your" not in words(shown.partition("<main")[2].partition("</main>")[0]).lower()
    assert "Nothing handed in yet" in client.get("/staff/labs/once/students/bob").text
    assert client.get("/staff/labs/lab1/students/eve").status_code == 404
    assert client.get("/staff/labs/lab1/students/no%00one").status_code == 404


def test_a_login_of_any_characters_has_its_history(site: Site) -> None:
    login = 'a/b?c#"<i>@x.edu'
    with transaction(site.settings.database) as session:
        user = people.add_user(session, login=login, name="Odd Login", now=datetime.now(UTC))
        people.enroll(session, course_id="gpu", user_id=user.id, role=Role.STUDENT, now=datetime.now(UTC))
    client = site.client("tam")
    row = client.get("/staff/labs/lab1?name=odd").text.partition("<tbody>")[2]
    [address] = re.findall(r'href="(/staff/labs/lab1/students/[^"]+)"', row[row.rindex("<tr>") :])
    assert login in unescape(client.get(unescape(address)).text)
    with transaction(site.settings.database) as session:
        session.get_one(Member, ("gpu", user.id)).active = False


def test_the_scoreboard_counts_reviews_and_links_its_sheet(site: Site) -> None:
    site.graded("ada")
    client = site.client("tam")
    shown = client.get("/staff/labs/lab1").text
    assert re.search(r"a person's review", words(shown))
    assert "partial, 3 ⚑" in words(shown)
    sheet = re.search(r'href="(/api/[^"]+csv)"', shown)
    assert sheet
    assert client.get(sheet[1]).headers["content-type"].startswith("text/csv")


def test_a_roster_is_previewed_before_it_is_applied(site: Site) -> None:
    client = site.client("tam")
    text = "name,login,email,section\nAda Lovelace,ada,ada@x.edu,C\nBob Bitter,bob,,B\nNew One,new,n@x.edu,A\n"
    form = {"csrf": csrf(client, "/staff/courses/gpu/roster")}
    seen = client.post("/staff/courses/gpu/roster", data=form, files={"file": ("class.csv", text.encode())})
    assert seen.status_code == 200
    assert "section: A → C" in words(seen.text)
    assert "New One" not in client.get("/staff/courses/gpu/roster").text
    fields = dict(re.findall(r'<input type="hidden" name="(file|digest)" value="([^"]*)"', seen.text))
    stale = client.post("/staff/courses/gpu/roster/apply", data={**form, **fields, "digest": "0" * 64})
    assert stale.status_code == 409
    done = client.post("/staff/courses/gpu/roster/apply", data={**form, **fields})
    assert "Applied: 1 added, 2 changed, 1 made inactive." in done.text or "Applied: 1 added, 1 changed" in done.text
    assert "New One" in client.get("/staff/courses/gpu/roster").text


def test_a_roster_with_bad_rows_is_told_by_row_and_cannot_be_applied(site: Site) -> None:
    client = site.client("tam")
    form = {"csrf": csrf(client, "/staff/courses/gpu/roster")}
    sent = {"file": ("class.csv", b"name,login\nNo Login,\nTwice,x\nTwice,x\n")}
    shown = client.post("/staff/courses/gpu/roster", data=form, files=sent).text
    assert "Row 2:" in shown
    assert "Row 4:" in shown
    assert "Apply these changes" not in shown
    bad = client.post("/staff/courses/gpu/roster", data=form, files={"file": ("c.csv", b"\x00\xff\x00")})
    assert bad.status_code == 422
    assert 'id="file-problem"' in bad.text


def test_a_token_is_shown_once_and_can_be_revoked(site: Site) -> None:
    client = site.client("ada")
    form = {"csrf": csrf(client, "/account"), "name": "my laptop", "days": "30", "scopes": ["submit", "read"]}
    made = client.post("/account/tokens", data=form)
    found = re.search(r"rooflab_pat_\w{36}", made.text)
    assert made.status_code == 201
    assert found
    listed = client.get("/account").text
    assert found[0] not in listed
    assert "my laptop" in listed
    other = site.client()
    assert other.post("/login", data={"token": found[0]}).status_code == 303
    number = listed.partition("/account/tokens/")[2].partition("/")[0]
    assert client.post(f"/account/tokens/{number}/revoke", data={"csrf": form["csrf"]}).status_code == 303
    assert other.get("/").status_code == 303


@pytest.mark.parametrize("changed", [{"name": ""}, {"name": "\u202e"}, {"scopes": []}, {"scopes": ["grades"]}])
def test_a_token_that_cannot_be_made_is_told_next_to_the_field(site: Site, changed: dict[str, object]) -> None:
    client = site.client("ada")
    form = {"csrf": csrf(client, "/account"), "name": "x", "scopes": ["read"], **changed}
    answer = client.post("/account/tokens", data=form)
    assert answer.status_code in (403, 422)
    assert 'id="name-problem"' in answer.text
    assert not re.search(r"rooflab_pat_\w{36}", answer.text)


def test_a_clients_secret_is_shown_once_and_works_until_it_is_revoked(site: Site) -> None:
    client = site.client("amy")
    form = {"csrf": csrf(client, "/staff/courses/gpu/clients"), "name": "Canvas"}
    made = client.post("/staff/courses/gpu/clients", data=form).text
    secret, name = re.search(r"rooflab_sec_\w{36}", made), re.search(r"client-[0-9a-f]{16}", made)
    assert secret
    assert name
    assert secret[0] not in client.get("/staff/courses/gpu/clients").text
    grant = {"grant_type": "client_credentials", "client_id": name[0], "client_secret": secret[0]}
    assert httpx.post(f"{site.url}/oauth2/token", data=grant).status_code == 200
    revoked = client.post(f"/staff/courses/gpu/clients/{name[0]}/revoke", data={"csrf": form["csrf"]})
    assert revoked.status_code == 303
    assert httpx.post(f"{site.url}/oauth2/token", data=grant).status_code == 401


def test_what_students_write_is_text_on_every_page(site: Site) -> None:
    code = f"# {HOSTILE}\ndef gemm_mac(x, y):\n    return 1  # {'w' * 5000}\n"
    submission = site.hand_in(site.client("ada"), code, '"><script>window.hacked=1</script>.py')
    verdicts = usual()
    verdicts[0] = verdicts[0].model_copy(
        update={"headline": HOSTILE, "remarks": (HOSTILE,), "needs_review": HOSTILE, "evidence": {HOSTILE: HOSTILE}}
    )
    site.finish(site.claim(submission), verdicts)
    student, staff = site.client("ada"), site.client("amy")
    pages = [
        student.get("/labs/lab1/history"),
        student.get(f"/submissions/{submission}"),
        staff.get(f"/submissions/{submission}"),
        staff.get("/staff/labs/lab1", params={"name": HOSTILE, "section": "B"}),
        staff.get("/staff/labs/lab1"),
        staff.get("/staff/courses/gpu/roster"),
        student.get("/login", params={"next": "/" + HOSTILE}),
        student.post("/labs/lab1/pasted", data={"csrf": csrf(student, "/"), "q-1.3": HOSTILE + "#" * MAX_PASTED}),
    ]
    for answer in pages:
        assert "<script>window" not in answer.text
        assert "<img src=x" not in answer.text
    for answer in pages[:3]:
        assert "\x1b" not in answer.text
        assert "\u202e" not in answer.text
    assert "⟨U+202E⟩" in pages[1].text
    assert "␛[31mred" in pages[1].text


def test_a_fault_inside_a_page_is_a_page_that_tells_nothing_of_it(site: Site) -> None:
    app = make_app(site.settings)

    def broken() -> None:
        raise RuntimeError("an inner secret")

    app.router.routes.insert(0, APIRoute("/broken", broken))

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://site") as client:
            return await client.get("/broken")

    answer = anyio.run(ask)
    assert answer.status_code == 500
    assert "Something broke on our side" in answer.text
    assert "an inner secret" not in answer.text


def test_a_prompts_raw_html_stays_text(site: Site) -> None:
    assert "&lt;b id=raw&gt;" in site.client("ada").get("/labs/lab1").text


def test_staff_read_who_changed_a_grade_when_from_what_to_what_and_why(site: Site) -> None:
    with transaction(site.settings.database) as session:
        cleo = people.add_user(session, login="cleo", name="Cleo New", now=datetime.now(UTC)).id
        people.enroll(session, course_id="gpu", user_id=cleo, role=Role.STUDENT, now=datetime.now(UTC))
        scopes = tokens.PERSONAL_SCOPES
        _, site.secrets["cleo"] = tokens.issue(
            session, tokens.Purpose.PERSONAL, now=datetime.now(UTC), scopes=scopes, user_id=cleo, name="first"
        )
    empty = "nothing of this student is graded in this lab"
    assert empty in site.client("tam").get("/staff/labs/lab1/students/cleo").text
    submission = site.graded("cleo")
    with transaction(site.settings.database) as session:
        why = "regrade: <b>1.4</b> was judged wrongly"
        gradings.add(session, submission, why=why, by_user_id=site.users["tam"], now=datetime.now(UTC))
    right = usual()
    right[1] = right[1].model_copy(update={"state": State.PASSED, "points": Decimal(5)})
    site.finish(site.claim(submission), right)
    staff = site.client("tam")
    for address in (f"/submissions/{submission}", "/staff/labs/lab1/students/cleo"):
        rows = staff.get(address).text.partition('<ol class="changes">')[2].partition("</ol>")[0].split("</li>")
        newest, first = (words(row) for row in rows[:2])
        when = r"\w+ \d+ \w+ \d+, \d\d:\d\d \(America/Los_Angeles, \w+\)"
        assert re.fullmatch(f"8 → 10 points by Tam Tutor · {when} {re.escape(why)}", newest)
        assert re.fullmatch(f"none → 8 points by Rooflab · {when} handed in", first)
    own = site.client("cleo")
    for address in (f"/submissions/{submission}", "/labs/lab1/history", "/labs/lab1"):
        shown = own.get(address).text
        assert "changes of the grade" not in shown and "judged wrongly" not in shown and "Tam" not in shown
