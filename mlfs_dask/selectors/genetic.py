"""A genetic search over sets of inputs, one generation after the other.

A set is a string of bits; the search minimizes a fitness that others compute::

    random sets ──> fitness ──> the best stay, pairs cross, some mutate ──> fitness ──> ...

Random numbers of a generation come from the seed and its number alone, so that the fitnesses of
all generations so far give the next one back: they are what a run writes down.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray, IntArray
from mlfs_dask.kernels.ranking import argbest, rank_order
from mlfs_dask.selectors.engine import NO_FEATURE, Choice, Request, Step
from mlfs_dask.wording import counted

N_ELITE: Final = 2
"""How many of the best of a generation stay as they are."""
_CROSSED: Final = 0.8  # share of the others that have two parents
_IMPROVEMENT: Final = 1e-6


@dataclass(frozen=True, eq=False)
class GeneticState:
    """Where a search stands.

    Attributes
    ----------
    generation : int
        Number of the population, 0 for the random one.
    population : ndarray of bool, shape (n_individuals, n_inputs)
        Not judged yet.
    best : ndarray of bool, shape (n_inputs,)
        The best set so far.
    fitness : float
        Its fitness; infinite before the first.
    waited : int
        Generations since the fitness last fell by more than 1e-6.
    """

    generation: int
    population: BoolArray
    best: BoolArray
    fitness: float
    waited: int


@dataclass(frozen=True)
class GeneticEngine:
    """Asks for the fitness of a generation and makes the next one.

    Attributes
    ----------
    n_inputs : int
        Bits of a set.
    n_individuals : int
        Sets of a generation, at least 4.
    n_generations : int
        How many follow the random one.
    patience : int
        Stop after so many generations without a fitness that is lower by more than 1e-6.
    mutation : float
        Probability that a bit of a mutating set flips.
    seed : int
        Of all generations.
    """

    n_inputs: int
    n_individuals: int
    n_generations: int
    patience: int
    mutation: float
    seed: int

    def begin(self) -> Step[GeneticState]:
        """Ask for the fitness of random sets."""
        shape = (self.n_individuals, self.n_inputs)
        population = self._random(0).random(shape) < 0.5
        nothing = np.zeros(self.n_inputs, dtype=bool)
        state = GeneticState(0, population, nothing, math.inf, 0)
        if self.n_inputs == 0:
            return Step(state, stop="no feature varies")
        return Step(state, request=_ask(state))

    def replay(self, decided: Sequence[Choice]) -> Step[GeneticState]:
        """The step after these generations.

        Parameters
        ----------
        decided
            One for each, in order.
        """
        step = self.begin()
        for choice in decided:
            known = [math.inf if f is None else f for f in choice.details["fitness"]]
            step = self.advance(step.state, np.array(known))
        return Step(step.state, tuple(decided), step.request, step.stop)

    def advance(self, state: GeneticState, reply: FloatArray) -> Step[GeneticState]:
        """Note what a generation is worth and make the next one.

        Parameters
        ----------
        state
            From the last step.
        reply : ndarray of float64, shape (n_individuals,)
            Fitness of each set, lower is better; infinite for an empty one.
        """
        fitness = np.where(state.population.any(axis=1), reply, np.inf)
        at = argbest(fitness, higher_is_better=False)
        found = float(fitness[at])
        best, lowest, waited = state.best, state.fitness, state.waited + 1
        if found < lowest:
            waited = 0 if lowest - found > _IMPROVEMENT else waited
            best, lowest = state.population[at], found
        choice = self._record(state, fitness, lowest, best)
        stop = self._end(state.generation, waited)
        population = state.population if stop else self._next(state, fitness)
        state = GeneticState(state.generation + 1, population, best, lowest, waited)
        return Step(state, (choice,), None if stop else _ask(state), stop)

    def _record(
        self, state: GeneticState, fitness: FloatArray, lowest: float, best: BoolArray
    ) -> Choice:
        known: list[float | None] = [f if math.isfinite(f) else None for f in fitness.tolist()]
        improved = lowest < state.fitness
        reason = "better set found" if improved else "no better set"
        details: dict[str, Any] = {"n_features": int(best.sum()), "fitness": known}
        return Choice(state.generation, NO_FEATURE, lowest, reason, details)

    def _end(self, generation: int, waited: int) -> str | None:
        if generation >= self.n_generations:
            return counted(self.n_generations, "generation")
        if waited >= self.patience:
            return f"{counted(self.patience, 'generation')} without a better set"
        return None

    def _next(self, state: GeneticState, fitness: FloatArray) -> BoolArray:
        """The next generation: elite, children of two parents, mutants."""
        rng = self._random(state.generation + 1)
        order = rank_order(
            fitness, higher_is_better=False, constant=np.zeros(len(fitness), dtype=bool)
        )
        n_others = self.n_individuals - N_ELITE
        n_crossed = int(_CROSSED * n_others + 0.5)
        parents = _draw_parents(order, n_others + n_crossed, rng)
        first, second = (state.population[parents[p : 2 * n_crossed : 2]] for p in (0, 1))
        crossed = np.where(rng.random(first.shape) < 0.5, first, second)
        mutants = state.population[parents[2 * n_crossed :]]
        mutants = mutants ^ (rng.random(mutants.shape) < self.mutation)
        return np.concatenate([state.population[order[:N_ELITE]], crossed, mutants])

    def _random(self, generation: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, generation])


def _ask(state: GeneticState) -> Request:
    return Request("fitness", {"population": state.population})


def _draw_parents(order: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """Parents by stochastic uniform sampling, in random order.

    The individual of rank r has a part of a line in proportion to 1 / sqrt(r); parents stand at
    equal distances along the line, the first one at random.
    """
    parts = 1.0 / np.sqrt(np.arange(1, len(order) + 1))
    ends = np.cumsum(parts) / parts.sum()
    places = (rng.random() + np.arange(count)) / count
    found = np.searchsorted(ends, places, side="right").clip(max=len(order) - 1)
    drawn: IntArray = rng.permutation(order[found])
    return drawn
