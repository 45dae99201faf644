"""nrs-cost in plain loops, from paper E; for at most 60 rows.

Missing values are NaN. Sets are sets, every neighbourhood is made anew for every set of features.
"""

import math
from dataclasses import dataclass, field


def key(value, digits=9):
    """The value rounded to significant digits, as decisions compare it."""
    return float(f"{value:.{digits - 1}e}")


def known(X, a):
    return [float(v) for v in X[:, a] if not math.isnan(v)]


def is_constant(X, a):
    return len(set(known(X, a))) < 2


def is_coded(X, a, nominal):
    """A nominal feature of more than two values; two-valued ones are numbers 0 and 1."""
    return a in nominal and not set(known(X, a)) <= {0.0, 1.0}


def radii(X, divisor, radius=None):
    """delta of every feature; 8.1 with the rounding of part G."""
    d = X.shape[1]
    if radius is not None:
        return [float(radius[a]) if hasattr(radius, "__len__") else float(radius) for a in range(d)]
    found = []
    for a in range(d):
        values = known(X, a)
        mean = math.fsum(values) / max(len(values), 1)
        spread = math.fsum((v - mean) ** 2 for v in values) / max(len(values), 1)
        found.append(float(f"{math.sqrt(spread) / divisor:.11e}"))
    return found


@dataclass
class Table:
    """Rows, labels and radii; questions about neighbourhoods and regions."""

    X: object
    Y: object
    delta: list
    nominal: set = field(default_factory=set)
    aggregate: str = "conjunctive"

    def __post_init__(self):
        n, d = self.X.shape
        self.n, self.d = n, d
        self.carried = [{k for k in range(self.Y.shape[1]) if self.Y[i, k]} for i in range(n)]
        self.constant = [is_constant(self.X, a) for a in range(d)]
        self.coded = [is_coded(self.X, a, self.nominal) for a in range(d)]

    def near(self, i, j, features):
        """j is in the neighbourhood of i on these features, in the order given."""
        terms = [self.term(i, j, a) for a in features]
        if self.aggregate == "sum":
            total = bound = 0.0
            for term, a in zip(terms, features, strict=True):
                total += term
                bound += 0.0 if self.coded[a] else self.delta[a]
            return total <= bound
        return all(
            term <= (0.0 if self.coded[a] else self.delta[a])
            for term, a in zip(terms, features, strict=True)
        )

    def term(self, i, j, a):
        x, y = float(self.X[i, a]), float(self.X[j, a])
        if math.isnan(x) or math.isnan(y):
            return 0.0
        return float(x != y) if self.coded[a] else abs(x - y)

    def positive(self, features):
        """POS_B: rows all of whose labels every neighbour carries."""
        return {
            i
            for i in range(self.n)
            if all(
                self.carried[i] <= self.carried[j]
                for j in range(self.n)
                if self.near(i, j, features)
            )
        }

    def usable(self):
        """Features that vary: the others are never chosen and separate nothing."""
        return [a for a in range(self.d) if not self.constant[a]]

    def whole(self):
        return self.positive(self.usable())

    def core(self):
        everything, whole = self.usable(), self.whole()
        return [a for a in everything if self.positive([b for b in everything if b != a]) != whole]


def significances(table, chosen, candidates, costs, whole):
    """SIG of every candidate, 8.3; costs None: without."""
    regions = [len(table.positive([*chosen, a])) for a in candidates]
    low = min(regions)
    span = len(whole) - low
    found = [(r - low) / span if span else 0.0 for r in regions]
    if costs is not None:
        spent = [math.fsum([*(costs[b] for b in chosen), costs[a]]) for a in candidates]
        cheapest, everything = min(spent), math.fsum(costs)
        if everything - cheapest > 1e-9 * everything:
            rated = [(s - cheapest) / (everything - cheapest) for s in spent]
            found = [f - r for f, r in zip(found, rated, strict=True)]
    return [0.0 if abs(f) < 1e-12 else f for f in found]


def reduct(
    table,
    costs=None,
    *,
    use_cost=True,
    budget=None,
    max_features=None,
    min_dependency=None,
    prune=False,
):
    """Red in order of choice; (feature, SIG, |POS| with it) of each step; why the loop ended."""
    rated = costs if use_cost else None
    limit = table.d if max_features is None else max_features
    whole, core = table.whole(), table.core()
    steps, chosen = [], []

    def cost_of(features):
        return math.fsum(costs[a] for a in features)

    def affordable(features):
        return budget is None or key(cost_of(features)) <= key(budget)

    pool = table.usable()
    if len(core) <= limit and affordable(core):
        for a in core:
            chosen.append(a)
            steps.append((a, None, len(table.positive(chosen))))
        incomplete = False
    else:
        pool, incomplete = core, True
    while True:
        region = table.positive(chosen)
        if region == whole:
            stop = "reached"
            break
        if min_dependency is not None and key(len(region)) >= key(min_dependency * len(whole)):
            stop = "dependency"
            break
        left = [a for a in pool if a not in chosen]
        candidates = [a for a in left if affordable([*chosen, a])]
        if len(chosen) >= limit or not candidates:
            stop = "core not complete" if incomplete else "limit" if candidates else "none left"
            break
        sig = significances(table, chosen, candidates, rated, whole)
        best = min(
            range(len(candidates)),
            key=lambda c: (
                -key(sig[c]),
                0.0 if rated is None else key(rated[candidates[c]]),
                candidates[c],
            ),
        )
        chosen.append(candidates[best])
        steps.append((candidates[best], sig[best], len(table.positive(chosen))))
    if prune:
        kept = list(chosen)
        region = table.positive(kept)
        for a in reversed(chosen):
            without = [b for b in kept if b != a]
            if table.positive(without) == region:
                kept = without
        chosen = kept
    return chosen, steps, stop
