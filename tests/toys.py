"""A plug-in for tests: an online selector that looks at one arriving feature after the other.

Small enough to see through, slow if asked to be, and failing if asked to, so that runs can be
stopped, killed and taken up in the middle of a selection.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.selectors.base import BaseSelector, labels_of
from mlfs_dask.selectors.engine import Choice, Request, Step, drive


@dataclass(frozen=True)
class ToyState:
    """Which features came and which of them stayed."""

    arrived: int
    members: tuple[int, ...]


@dataclass(frozen=True)
class ToyEngine:
    """Keeps a feature that tells more about the labels than about the features kept before."""

    n_features: int

    def begin(self) -> Step[ToyState]:
        return self._ask(ToyState(0, ()), ())

    def replay(self, decided) -> Step[ToyState]:
        members = tuple(choice.feature for choice in decided if choice.details["kept"])
        return self._ask(ToyState(len(decided), members), tuple(decided))

    def advance(self, state: ToyState, reply: tuple[float, float]) -> Step[ToyState]:
        relevance, redundancy = reply
        kept = relevance > redundancy
        reason = f"accepted: relevance {relevance:.3f}" if kept else "discarded: redundant"
        feature = state.arrived
        choice = Choice(feature, feature, relevance - redundancy, reason, {"kept": kept})
        members = (*state.members, feature) if kept else state.members
        return self._ask(ToyState(feature + 1, members), (choice,))

    def _ask(self, state: ToyState, decided: tuple[Choice, ...]) -> Step[ToyState]:
        if state.arrived == self.n_features:
            return Step(state, decided=decided, stop="no feature left")
        arguments = {"feature": state.arrived, "members": state.members}
        return Step(state, decided=decided, request=Request("arrival", arguments))


class ToyOnline(BaseSelector):
    """Keep features as they arrive.

    Parameters
    ----------
    delay
        Seconds that each arrival takes.
    fails_with
        A file; while it exists every fit fails at its third arrival.
    dies_with
        A file; while it exists every fit kills its process at its third arrival.
    eats_with
        A file; the fit that takes it away at its third arrival eats memory until it is stopped.
    """

    def __init__(
        self,
        delay: float = 0.0,
        fails_with: str = "",
        dies_with: str = "",
        eats_with: str = "",
        *,
        impute: str = "none",
        n_features_to_select: int | None = None,
        tile: int = 4096,
    ) -> None:
        self.delay = delay
        self.fails_with = fails_with
        self.dies_with = dies_with
        self.eats_with = eats_with
        self.impute = impute
        self.n_features_to_select = n_features_to_select
        self.tile = tile

    def _check_parameters(self) -> None:
        self._check_common()

    def _select(self, source: Source, summary: ColumnSummary, executor: Any) -> None:
        blocks = [source.block(t) for t in range(source.n_tiles)]
        X = np.concatenate([b.toarray() if hasattr(b, "toarray") else b for b in blocks])
        X = X.astype(np.float64) - X.mean(axis=0)
        X /= np.maximum(np.sqrt((X * X).sum(axis=0)), 1e-12)
        target = labels_of(source).sum(axis=1) - labels_of(source).sum(axis=1).mean()
        target /= max(float(np.sqrt((target * target).sum())), 1e-12)

        def fulfil(request: Request) -> tuple[float, float]:
            feature, members = request.arguments["feature"], list(request.arguments["members"])
            time.sleep(self.delay)
            if feature == 2 and self.fails_with and Path(self.fails_with).exists():
                raise ArithmeticError("told to fail")
            if feature == 2:
                self._suffer()
            column = X[:, feature]
            among = np.abs(X[:, members].T @ column).max() if members else 0.0
            return abs(float(column @ target)), float(among)

        choices = [c for s in drive(ToyEngine(source.n_features), fulfil) for c in s.decided]
        kept = [c.feature for c in choices if c.details["kept"]]
        rest = [f for f in range(source.n_features) if f not in kept]
        self.order_ = np.array(kept + rest)
        self.scores_ = np.array([c.score for c in choices])
        self.higher_is_better_ = True
        self.path_ = [c.record() for c in choices]
        self.stop_ = "no feature left"

    def _suffer(self) -> None:
        if self.dies_with and Path(self.dies_with).exists():
            time.sleep(0.5)  # what it decided before is on its way
            os.kill(os.getpid(), signal.SIGKILL)
        if self.eats_with and Path(self.eats_with).exists():
            Path(self.eats_with).unlink()
            eaten = []
            while len(eaten) < 100:
                eaten.append(np.ones(2**22))  # 32 MiB
                time.sleep(0.1)
