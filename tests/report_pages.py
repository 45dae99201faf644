"""Reports of made and of real runs, read by tags, attributes, rows of tables and text."""

import html.parser

from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.results import open_run
from mlfs_dask.report import render_report
from mlfs_dask.testing.jobs import TINY_JOB


class Outline(html.parser.HTMLParser):
    """Tags, attributes, cells and text of a page; checks that tags nest."""

    VOID = frozenset({"meta", "br", "link", "img"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text, self.rows, self.pieces = [], [], "", [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag in ("br", "small", "span") and self.rows:
            self.rows[-1][-1:] = [cell + " " for cell in self.rows[-1][-1:]]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        self.pieces.append((self.open[-1] if self.open else "", data))
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data

    def count(self, tag):
        return [name for name, _ in self.tags].count(tag)

    @property
    def clean_rows(self):
        return [[" ".join(cell.split()) for cell in row] for row in self.rows]

    def row(self, *beginning):
        """The row whose first cells are these, blanks aside."""
        rows = (row for row in self.clean_rows if tuple(row[: len(beginning)]) == beginning)
        return next(rows)


def finish(text=TINY_JOB, *overrides):
    """The tiny job, run in this process."""
    job = parse_job(text.encode(), "job.toml", ("run.workers=0", *overrides))
    return open_run(run_job(Order(job=job, text=text.encode())).folder.path)


def page_of(made, runs):
    """The report of a made run."""
    return Outline(render_report([made.write(runs)]))
