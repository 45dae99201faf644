"""What a report says about one run, put together for the template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlfs_dask.jobs.results import Run
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.jobs.summary import Planted, Point, planted_truth
from mlfs_dask.report.alike import AlikeOf, alike_tables
from mlfs_dask.report.baselines import BaselineTable, baseline_tables
from mlfs_dask.report.curves import CurvesOf, curve_groups
from mlfs_dask.report.downloads import Download, files_of, points_link
from mlfs_dask.report.facts import Facts, read_facts
from mlfs_dask.report.progress import Progress, read_progress
from mlfs_dask.report.selected import SelectedOf, selected_features
from mlfs_dask.report.significance import Comparisons, comparison_section
from mlfs_dask.report.stability import StabilityTable, stability_tables
from mlfs_dask.report.tables import BestTable, Finding, best_tables, findings, rule_in_words
from mlfs_dask.storage.places import Place


@dataclass(frozen=True)
class RunContent:
    """One run, ready to be shown; ``more_...`` count what is left out."""

    number: int
    id: str
    name: str
    state: str
    created: str
    facts: Facts
    progress: Progress
    findings: list[Finding]
    more_findings: int
    curves: list[CurvesOf]
    more_curves: int
    best: list[BestTable]
    baselines: list[BaselineTable]
    rule: str
    tests: Comparisons | None
    planted: list[Planted]
    selected: list[SelectedOf]
    more_selected: int
    alike: list[AlikeOf]
    stability: list[StabilityTable]
    versions: dict[str, str]
    digest: str
    outputs: dict[str, str]
    points_csv: str
    files: list[Download]

    @property
    def sections(self) -> list[tuple[str, str]]:
        """Names (of templates and anchors) and headings of the sections there are, in order."""
        candidates: list[tuple[str, str, Any]] = [
            ("short", "In short", self.findings or self.progress.failures),
            ("ran", "What ran", True),
            ("curves", "Curves", self.curves),
            ("enough", "Best points, and how many features are enough", self.best),
            ("baselines", "Classifiers on all features", self.baselines),
            ("tests", "Tests of significance", self.tests),
            ("selected", "Selected features", self.selected),
            ("alike", "Agreement between methods", self.alike),
            ("stability", "Stability over the folds", self.stability),
            ("planted", "Planted truth", self.planted),
            ("warnings", "Warnings, incidents and notes", self.has_warnings),
            ("time", "Time and interruptions", True),
            ("provenance", "Provenance", True),
        ]
        return [(name, heading) for name, heading, there in candidates if there]

    @property
    def has_warnings(self) -> bool:
        """Whether there is anything to warn of."""
        progress = self.progress
        return bool(progress.failures or progress.incidents or progress.notes)


def read_content(
    run: Run, points: Sequence[Point], number: int = 1, target: Place | None = None
) -> RunContent:
    """Gather what a report shows of a run.

    Parameters
    ----------
    run
        A run with results.
    points
        All its points.
    number
        Position in the report, from 1.
    target
        Where the report will lie; None: in the folder of the run.
    """
    found, more_findings = findings(run, points)
    # Without selectors curves would be single dashed lines.
    on_curves = points if run.job["select"] else []
    drawn, more_curves = curve_groups(run, on_curves)
    selected, more_selected = selected_features(run, points)
    return RunContent(
        number=number,
        id=run.id,
        name=run.job["name"],
        state=run.state,
        created=run.manifest["created"],
        facts=read_facts(run),
        progress=read_progress(run),
        findings=found,
        more_findings=more_findings,
        curves=drawn,
        more_curves=more_curves,
        best=best_tables(run, on_curves),
        baselines=baseline_tables(run, points),
        rule=rule_in_words(points),
        tests=comparison_section(run),
        planted=planted_truth(run),
        selected=selected,
        more_selected=more_selected,
        alike=alike_tables(run, points),
        stability=stability_tables(run, points),
        versions=run.manifest["versions"],
        digest=run.manifest["job_digest"],
        outputs=RunFolder(run.path).read_state().get("outputs", {}),
        points_csv=points_link(points),
        files=files_of(run, target),
    )
