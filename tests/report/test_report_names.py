"""Names in reports: they cannot break the page, nor its direction."""

import re

from made_runs import (
    CONTROL,
    EMOJI,
    LONG,
    RIGHT_TO_LEFT,
    SCRIPT,
    TEMPLATE,
    MadeRun,
    hostile_run,
)
from report_pages import Outline, finish, page_of

from mlfs_dask.report import render_report
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.jobs import TINY_JOB, tiny_table


def test_every_name_is_escaped(runs):
    text = render_report([hostile_run().write(runs)])
    page = Outline(text)
    assert page.count("script") == 0
    for name in (SCRIPT, EMOJI, TEMPLATE, LONG):
        assert name in page.text  # whole where the methods are listed
    assert "{{ 7 * 7 }}" in page.text
    assert CONTROL.replace("\x00", "\N{REPLACEMENT CHARACTER}")[:8] in page.text
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", text)


def test_names_that_turn_the_direction_of_writing_turn_only_themselves(runs):
    page = page_of(hostile_run(), runs)
    turned = [(tag, text) for tag, text in page.pieces if RIGHT_TO_LEFT[0] in text]
    assert len(turned) > 20
    assert {tag for tag, _ in turned} <= {"bdi", "title"}  # title: of a mark of a chart
    alone = [text for tag, text in turned if tag == "bdi" and not text.startswith("text = ")]
    assert all(text.startswith(RIGHT_TO_LEFT) for text in alone)


def test_names_of_features_and_labels_come_through_a_real_run(tmp_path):
    stores = tmp_path / "stores"
    stores.mkdir()
    names = [f"{SCRIPT} {i}" for i in range(8)]
    table = tiny_table(feature_names=names, label_names=[f"{SCRIPT} l{i}" for i in range(3)])
    ingest(table, stores / "tiny.zarr", tile=16, name=SCRIPT)
    page = Outline(render_report([finish(TINY_JOB, "select.0.label='<b onclick=x>evil</b>'")]))
    assert page.count("script") == 0
    assert not [attrs for _, attrs in page.tags if "onclick" in attrs]
    assert "<b onclick=x>evil</b>" in page.text
    assert names[0] in page.text


def test_lone_surrogates_do_not_stop_the_page(runs):
    made = MadeRun()
    made.features = {"songs": [f"\ud800 {i}" for i in range(20)]}
    assert "\N{REPLACEMENT CHARACTER} 1" in render_report([made.write(runs)]).encode().decode()
