"""What the pages and documents say, and how they answer."""

import json
import shutil

import pytest
from made_runs import MadeRun
from served import links, serve

from mlfs_dask.jobs.journal import Journal
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.rundir import RunFolder, all_runs

PATHS = ("/mlfs", "/mlfs/", "/mlfs/runs/RUN", "/mlfs/api/runs", "/mlfs/api/runs/RUN")


@pytest.fixture
def run(runs):
    """The one run."""
    (folder,) = all_runs(runs)
    return folder


def test_the_list_shows_each_run_with_state_and_progress(served, run, runs):
    MadeRun("other").write(runs)
    text = served.until("/mlfs", lambda answer: "other-0123456789" in answer.text).text
    assert f">{run.id}<" in text
    assert "32 of 32" in text
    assert text.count('class="state done"') == 2
    document = served.get("/mlfs/api/runs").json
    rows = {row["run"]: row for row in document["runs"]}
    assert rows[run.id]["state"] == "done"
    assert (rows[run.id]["done"], rows[run.id]["total"]) == (32, 32)
    assert rows[run.id]["datasets"] == ["tiny"]
    assert document["counts"] == {"done": 2}


def test_the_page_of_a_run_shows_what_its_folder_says(served, run):
    page = served.get(f"/mlfs/runs/{run.id}")
    assert page.status == 200
    known = open_run(run.path)
    document = served.get(f"/mlfs/api/runs/{run.id}").json
    stages = {stage["name"]: (stage["done"], stage["total"]) for stage in document["stages"]}
    assert stages == {
        "selecting in folds": (12, 12),
        "judging": (18, 18),
        "selecting on all rows": (2, 2),
    }
    assert len(document["folds"]) == 7  # 2 x 3, and all rows
    assert all(fold["done"] == fold["total"] for fold in document["folds"])
    names = known.datasets["tiny"]["features"]
    for chosen in document["chosen"]:
        best = [names[feature] for feature in known.order(chosen["selector"])]
        assert [feature["name"] for feature in chosen["features"]] == best
        assert chosen["is_done"]
        assert f"<bdi>{best[0]}</bdi>" in page.text
    assert "smallest increase of the criterion" in page.text  # a reason
    assert page.text.count("<figure>") == 3  # a chart per measure
    points = [p for p in document["points"] if p["selector"] == "SPEC"]
    assert [p["n_features"] for p in points] == [2, 4, 8]
    assert document["plan"]["memory_bytes"] > 0
    assert "By the plan a worker needs about" in page.text


def test_a_run_in_the_middle_shows_its_curve_and_decisions_so_far(served, run):
    """The same run cut off after two thirds of its journal, with a selection in hand."""
    lines = run.journal.read_bytes().splitlines(keepends=True)
    run.journal.write_bytes(b"".join(lines[:25]))
    for file in (run.results, run.evaluation, run.timings):
        file.unlink()
    run.write_state("running", done=20, total=32)
    decided = [
        {"step": i, "feature": i, "score": 1.5 - i, "reason": f"for reason {i}"} for i in range(3)
    ]
    with Journal(run.journal) as journal:
        journal.append(
            "step", unit=_unfinished(run), first=0, decided=decided, seconds=0.1, worker="far:7"
        )
        journal.append("incident", message="worker tcp://10.0.0.9:1 was lost with 2 tasks in hand")
    document = served.until(
        f"/mlfs/api/runs/{run.id}", lambda answer: answer.json["state"] == "interrupted"
    ).json
    in_hand = [chosen for chosen in document["chosen"] if not chosen["is_done"]]
    assert len(in_hand) == 1
    assert in_hand[0]["n_decided"] == 3
    assert [f["reason"] for f in in_hand[0]["features"]] == [f"for reason {i}" for i in (2, 1, 0)]
    assert in_hand[0]["features"][0]["name"] == "f2"
    assert 0 < len(document["points"]) <= 7
    assert document["incidents"][0]["message"].startswith("worker tcp://10.0.0.9:1 was lost")
    text = served.get(f"/mlfs/runs/{run.id}").text
    assert "was lost with 2 tasks in hand" in text
    assert "3 decisions so far" in text
    assert "<figure>" in text


def _unfinished(run):
    from mlfs_dask.jobs.manifest import saved_job
    from mlfs_dask.jobs.units import units_of

    done = run.journal.read_text()
    units = units_of(saved_job(run), ["tiny"])
    return next(unit.id for unit in units if unit.kind == "select" and unit.id not in done)


@pytest.mark.parametrize("path", [*PATHS, "/mlfs/style.css", "/mlfs/refresh.js", "/mlfs/nowhere"])
def test_every_answer_is_read_only_and_carries_the_headers(served, run, path):
    path = path.replace("RUN", run.id)
    answer = served.get(path)
    assert answer.status == (404 if "nowhere" in path else 200)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "server" not in answer.headers
    head = served.get(path, "HEAD")
    assert (head.status, head.text) == (answer.status, "")
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        refused = served.get(path, method, Content_Length="0")
        assert refused.status == 405
        assert "Traceback" not in refused.text


def test_pages_run_no_script_but_their_own(served, run):
    for path in ("/mlfs", f"/mlfs/runs/{run.id}"):
        text = served.get(path).text
        assert text.count("<script") == 1
        assert "refresh.js" in text
        assert "<noscript><meta http-equiv=" in text  # without scripts the browser loads it anew
        assert " on" not in [part[:3] for part in text.split('"')[::2]]  # no handlers
        assert " style=" not in text


def test_a_run_that_is_over_is_asked_for_less_often(served, run):
    text = served.get(f"/mlfs/runs/{run.id}").text
    assert 'data-refresh="15"' in text


def test_files_are_not_sent_twice(served):
    for path in ("/mlfs/style.css", "/mlfs/refresh.js"):
        first = served.get(path)
        again = served.get(path, If_None_Match=first.headers["etag"])
        assert (again.status, again.text) == (304, "")


def test_a_list_of_many_comes_in_pages_and_can_be_narrowed(tmp_path, tiny_runs):
    template = MadeRun("many").write(tmp_path / "made").path
    runs = tmp_path / "runs"
    for number in range(130):
        folder = RunFolder(runs / f"many-{number:010d}")
        folder.path.mkdir(parents=True)
        for name in ("manifest.json", "state.json"):
            (folder.path / name).write_bytes((template / name).read_bytes())
        if number < 5:
            folder.write_state("failed", done=1, total=4, message="no luck")
    with serve(runs) as pages:
        text = pages.until("/mlfs", lambda answer: "page 1 of 2" in answer.text).text
        assert text.count("<tr>") == 101
        older = next(link for link in links(text) if "page=2" in link)
        assert pages.get(f"/{older}").text.count("<tr>") == 31
        failed = pages.get("/mlfs/?state=failed").text
        assert failed.count("<tr>") == 6
        assert failed.count("no luck") == 5
        assert pages.get("/mlfs/?text=0000000007").text.count("<tr>") == 2
        assert "None of the 130 runs" in pages.get("/mlfs/?text=nothing%20like%20it").text
        rows = pages.get("/mlfs/api/runs?state=failed").json["runs"]
        assert [row["message"] for row in rows] == ["no luck"] * 5
        for odd in ("page=0", "page=-1", "page=x", "page=1e9", "page=99999999", "state=%3Cb%3E"):
            assert pages.get(f"/mlfs/?{odd}").status == 200


def test_without_a_run_or_a_folder_the_list_says_so(tmp_path):
    with serve(tmp_path / "nowhere") as pages:
        text = pages.until("/mlfs", lambda answer: "There is no run yet" in answer.text).text
        assert "1 is not there yet" in text
        assert str(tmp_path) not in text


def test_runs_of_two_folders_with_one_id_are_told_apart(tmp_path):
    for folder in ("a", "b"):
        MadeRun("same", seed=ord(folder)).write(tmp_path / folder)
    with serve(tmp_path / "a", tmp_path / "b") as pages:
        answer = pages.until("/mlfs/api/runs", lambda answer: len(answer.json["runs"]) == 2)
        keys = sorted(row["run"] for row in answer.json["runs"])
        assert keys == ["same-0123456789", "same-0123456789~2"]
        for key in keys:
            assert pages.get(f"/mlfs/runs/{key}").status == 200


def test_a_damaged_run_hides_neither_itself_nor_the_others(served, run, runs):
    broken = MadeRun("broken").write(runs).path
    (broken / "state.json").write_text("{")
    answer = served.until("/mlfs", lambda answer: "broken-0123456789" in answer.text)
    assert 'class="state damaged"' in answer.text
    assert run.id in answer.text
    assert served.get("/mlfs/runs/broken-0123456789").status == 500
    assert "state.json" in served.get("/mlfs/api/runs/broken-0123456789").json["error"]["message"]
    (broken / "state.json").unlink()
    (broken / "resolved.json").write_text("[]")
    assert served.get("/mlfs/runs/broken-0123456789").status == 500
    assert served.get(f"/mlfs/runs/{run.id}").status == 200


def test_a_run_that_is_removed_and_begun_anew_is_another_run(served, run, runs):
    before = served.get(f"/mlfs/api/runs/{run.id}").json
    manifest = json.loads(run.manifest.read_bytes()) | {"created": "2030-01-01T00:00:00+00:00"}
    for file in run.path.rglob("*"):
        if file.is_file() and file.name not in ("resolved.json", "datasets.json"):
            file.unlink()
    served.until("/mlfs", lambda answer: run.id not in answer.text)
    run.manifest.write_text(json.dumps(manifest))
    run.write_state("queued", done=0, total=32)
    now = served.until(f"/mlfs/api/runs/{run.id}", lambda answer: answer.status == 200).json
    assert before["points"]
    assert (now["state"], now["points"], now["done"], now["sessions"]) == ("queued", [], 0, [])


def test_the_list_answers_while_the_first_look_goes_on(tmp_path, monkeypatch):
    """Reading may hang, as disks of other machines do: pages do not."""
    import threading

    from mlfs_dask.dashboard import listing

    MadeRun("slow").write(tmp_path)
    go_on = threading.Event()
    read = listing._read
    monkeypatch.setattr(listing, "_read", lambda *given: go_on.wait(60) and read(*given))
    with serve(tmp_path) as pages:
        assert pages.get("/mlfs").status == 200
        assert pages.get("/mlfs/api/runs").json["runs"] == []
        go_on.set()
        pages.until("/mlfs", lambda answer: "slow-0123456789" in answer.text)


def test_curves_of_units_are_those_of_the_results(tiny_runs, tmp_path):
    """Before the results are put together, points come from the units: the same to the last bit."""
    from mlfs_dask.dashboard.view import RunReader

    copied = shutil.copytree(tiny_runs, tmp_path / "runs")
    (folder,) = all_runs(copied)
    whole = RunReader(folder.id, folder).read()
    expected = open_run(folder.path).evaluation
    folder.evaluation.unlink()
    folder.write_state("failed", done=32, total=32)
    reader = RunReader(folder.id, folder)
    assert reader.read().view.points == whole.view.points
    assert repr(reader._run.evaluation.tolist()) == repr(expected.tolist())
