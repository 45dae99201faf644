"""Names, paths and files that are out to break the pages, or to read what is none of theirs."""

import json
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_runs import HOSTILE, SCRIPT, MadeRun, hostile_run
from served import links, serve

from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

NOW = "2026-01-01T00:00:00+00:00"
SECRET = "the secret of this machine"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs of hostile names: one made up, one real in the middle of a selection; and a secret."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "secret").mkdir()
    (folder / "secret" / "journal.jsonl").write_text(SECRET)
    (folder / "secret.json").write_text(json.dumps({"secret": SECRET}))
    runs = folder / "runs"
    hostile_run().write(runs)
    _real_run(folder, runs)
    odd = MadeRun("odd").write(runs).path
    odd.rename(odd.with_name("100% <b>&'\" ö ..%2f"))
    MadeRun("whole").write(folder / "elsewhere")
    (runs / "linked").symlink_to(folder / "elsewhere" / "whole-0123456789")
    for name in ("journal.jsonl", "resolved.json", "datasets.json", "evaluation.csv"):
        made = MadeRun(f"link-{name.partition('.')[0]}").write(runs).path
        (made / name).unlink()
        (made / name).symlink_to(folder / "secret.json")
    stated = MadeRun("link-state").write(runs).path
    (stated / "state.json").unlink()
    (stated / "state.json").symlink_to(folder / "secret.json")
    return folder


def _real_run(folder, runs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFS_STORES", str(folder / "stores"))
        names = [*HOSTILE, "last"]
        make_tiny_store(folder / "stores", feature_names=names, label_names=list(HOSTILE[:3]))
        text = TINY_JOB.replace('"SPEC"', json.dumps(SCRIPT))
        job = parse_job(text.encode(), "tiny.toml", ("run.workers=0",))
        run = run_job(Order(job=job, text=text.encode(), runs=runs)).folder
    lines = run.journal.read_bytes().splitlines(keepends=True)
    run.journal.write_bytes(b"".join(lines[:25]))
    run.write_state("failed", done=20, total=32, message=SCRIPT)


@pytest.fixture(scope="module")
def pages(folder):
    with serve(folder / "runs") as pages:
        pages.until("/mlfs", lambda answer: "hostile-0123456789" in answer.text)
        yield pages


def test_what_runs_are_called_is_text_on_every_page(pages):
    rows = pages.get("/mlfs/api/runs").json["runs"]
    keys = [row["run"] for row in rows]
    assert "100% <b>&'\" ö ..%2f" in keys
    for address in ["/mlfs", *(f"/mlfs/runs/{quote(key, safe='')}" for key in keys)]:
        answer = pages.get(address)
        assert answer.status == (500 if "link-" in address else 200), address
        text = answer.text
        assert text.count("<script") <= 1
        assert "<script>alert" not in text
        assert "<b>&'" not in text
        assert "{{" not in text.replace("]]&gt;--&gt;&lt;!--{{ 7 * 7 }}", "")
        assert "\x00" not in text
        assert "\x1b" not in text
        assert all(not link.startswith(("javascript:", "/", "http")) for link in links(text))


def test_hostile_names_are_there_all_the_same(pages):
    (key,) = (r["run"] for r in pages.get("/mlfs/api/runs").json["runs"] if r["state"] == "failed")
    text = pages.get(f"/mlfs/runs/{key}").text
    assert "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;" in text
    document = pages.get(f"/mlfs/api/runs/{key}").json
    assert document["message"] == SCRIPT
    shown = {feature["name"] for chosen in document["chosen"] for feature in chosen["features"]}
    assert SCRIPT in shown


def test_links_to_elsewhere_are_not_followed(pages):
    keys = {row["run"]: row for row in pages.get("/mlfs/api/runs").json["runs"]}
    assert "linked" not in keys
    assert "link-state-0123456789" not in keys
    for name in ("journal", "resolved", "datasets", "evaluation"):
        answer = pages.get(f"/mlfs/api/runs/link-{name}-0123456789")
        assert answer.status == 500
        assert "a link to elsewhere" in answer.text
        assert SECRET not in answer.text
    for name in ("linked", "../elsewhere/whole-0123456789", "link-state-0123456789"):
        assert pages.get(f"/mlfs/runs/{quote(name, safe='')}").status == 404


PIECES = st.one_of(
    st.sampled_from(
        ["..", ".", "%2e%2e", "%2E%2e%2f", "%252e%252e", "..%5c", "%00", "~", "secret", "runs",
         "secret.json", "journal.jsonl", "api", "style.css", "linked", "hostile-0123456789",
         "state.json", "%ff", "%", "%zz", "+", ";", "?", "&", "*", "etc", "passwd", "", "C:"]
    ),
    st.text(min_size=1, max_size=30).map(lambda text: quote(text.encode("utf-8", "replace"))),
)  # fmt: skip


@settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    pieces=st.lists(PIECES, max_size=6),
    head=st.sampled_from(["/mlfs/runs/", "/mlfs/api/runs/", "/mlfs/", "/mlfs", "/mlfs//"]),
    query=st.sampled_from(["", "?state=done", "?page=%ff", "?text=%3Cscript%3E&page=", "?%00"]),
)
def test_no_address_gives_a_file_or_a_fault(pages, folder, pieces, head, query):
    answer = pages.get(head + "/".join(pieces) + query)
    assert answer.status in (200, 301, 302, 400, 404, 500)
    assert SECRET not in answer.text
    assert "root:" not in answer.text
    assert "Traceback" not in answer.text
    assert str(folder) not in answer.text.replace(str(folder / "runs"), "")
    if answer.status == 500:
        assert "link" in answer.text  # said, not stumbled over
    if answer.status in (301, 302):
        assert not answer.headers["location"].startswith(("/", "http"))


def test_odd_requests_are_refused_in_a_word(pages):
    for path, status in (("/mlfs/runs/%ff", 400), ("/mlfs?text=%ff", 400), ("/mlfs/runs/", 302)):
        assert pages.get(path).status == status
    assert pages.get("/mlfs/runs/" + "x" * 10000).status == 404


def test_a_journal_of_another_make_is_shown_as_far_as_it_goes(tmp_path):
    """Lines with the right frame and anything inside: nothing of it breaks the page."""
    made = MadeRun("strange").write(tmp_path)
    folder = RunFolder(made.path)
    odd = [
        {"event": "step"},
        {"event": ["x"]},
        {"event": "unit", "unit": 3, "seconds": "long", "worker": None, "time": 5},
        {"event": "start", "time": None, "workers": "many", "done": None},
        {"event": "incident", "message": {"<b>": 1}, "time": NOW},
        {"event": "incident", "message": "\ud800 <i>", "time": NOW},
        {"event": "incident", "message": "no time", "time": "once"},
        {"event": "start", "time": "once", "workers": 1, "done": 0, "plan": {"seconds": "x"}},
        {"event": "start", "time": NOW, "workers": 1, "done": 0, "plan": {"seconds": "x"}},
        {"event": "start", "time": NOW, "workers": 1, "done": 0},
        {"event": "step", "time": NOW, "unit": "a", "first": 0, "decided": ["x"], "worker": ""},
        {"event": "unit", "time": NOW, "unit": ["a"], "seconds": 1e400, "worker": "<i>"},
        {"event": "finish"},
    ]
    lines = [json.dumps({"seq": number, **event}) for number, event in enumerate(odd, 1)]
    folder.journal.write_text("\n".join(lines) + "\n")
    with serve(tmp_path) as pages:
        answer = pages.until("/mlfs/runs/strange-0123456789", lambda answer: answer.status != 404)
        assert answer.status == 200, answer.text
        assert "<i>" not in answer.text
        assert pages.get("/mlfs/api/runs/strange-0123456789").status == 200
