"""Online selection of paper D and OFS-A3M in plain loops, from the papers; at most 60 rows."""

import math


def key(value):
    return float(f"{value:.8e}")


def information(Y):
    """Mutual information of each pair of labels in bits, by four joint probabilities."""
    n, q = len(Y), len(Y[0])
    table = [[0.0] * q for _ in range(q)]
    for k in range(q):
        for m in range(q):
            for a in (0, 1):
                for b in (0, 1):
                    joint = sum(int(row[k] == a and row[m] == b) for row in Y) / n
                    one = sum(int(row[k] == a) for row in Y) / n
                    other = sum(int(row[m] == b) for row in Y) / n
                    if joint > 0 and k != m:
                        table[k][m] += joint * math.log2(joint / (one * other))
    return [[value if value >= 1e-12 else 0.0 for value in row] for row in table]


def weights(Y, damping=0.85, rounds=None, shared=False):
    """Label weights: to the fixed point, or after so many rounds."""
    table = information(Y)
    q = len(table)
    sums = [math.fsum(row) for row in table]
    constant = (1 - damping) / (q if shared else 1)
    W = [1 / q] * q
    for _ in range(rounds or 1000):
        new = []
        for k in range(q):
            received = [W[m] * table[k][m] / sums[m] for m in range(q) if sums[m] > 0]
            new.append(constant + damping * math.fsum(received))
        change = math.fsum(abs(a - b) for a, b in zip(new, W, strict=True))
        W = new
        if rounds is None and change < 1e-12:
            break
    return [w / math.fsum(W) for w in W]


def is_coded(column, nominal):
    return nominal and not set(column) <= {0.0, 1.0}


def scaled(column, normalize):
    """Min-max or standardised by the deviation with n - 1, sums in row order."""
    low, high = min(column), max(column)
    if low == high or normalize == "none":
        return column
    if normalize == "minmax":
        return [(v - low) / (high - low) for v in column]
    total = square = 0.0
    for v in column:
        total += v
    mean = total / len(column)
    for v in column:
        square += (v - mean) * (v - mean)
    deviation = math.sqrt(square / (len(column) - 1))
    return [(v - mean) / deviation for v in column]


class Table:
    """Scaled columns and how two values of each differ."""

    def __init__(self, X, normalize="minmax", nominal=()):
        self.n, self.d = X.shape
        raw = [[float(v) for v in X[:, f]] for f in range(self.d)]
        self.constant = [min(column) == max(column) for column in raw]
        self.coded = [is_coded(column, f in nominal) for f, column in enumerate(raw)]
        self.columns = [
            column if coded else scaled(column, normalize)
            for column, coded in zip(raw, self.coded, strict=True)
        ]

    def distance(self, i, j, features):
        total = 0.0
        for f in features:
            a, b = self.columns[f][i], self.columns[f][j]
            gap = float(a != b) if self.coded[f] else a - b
            total += gap * gap
        return math.sqrt(total)

    def neighborhood(self, i, features, factor=1.5, strict=False):
        """Rows in the gap neighbourhood of row i, without i."""
        others = [j for j in range(self.n) if j != i]
        distance = {j: self.distance(i, j, features) for j in others}
        others.sort(key=distance.get)
        d = [distance[j] for j in others]
        if self.n < 3 or d[0] == d[-1]:
            return others
        width = factor * (d[-1] - d[0]) / (self.n - 2)
        for k in range(len(d) - 1):
            gap = d[k + 1] - d[k]
            if gap > width or (gap == width and not strict):
                return others[: k + 1]
        return others


def dependency(table, values, features, how="hard", **gap):
    """Of one label or class: share of pure rows, or mean share of neighbours that agree."""
    total = []
    for i in range(table.n):
        around = table.neighborhood(i, features, **gap)
        same = [values[j] == values[i] for j in around]
        total.append(float(all(same)) if how == "hard" else sum(same) / len(same) if same else 1.0)
    return math.fsum(total) / table.n


def label_dependency(table, Y, W, features, how="hard", **gap):
    """Weighted over the labels."""
    parts = [
        w * dependency(table, [int(row[k]) for row in Y], features, how, **gap)
        for k, w in enumerate(W)
    ]
    return sum(parts)


def significance(after, before):
    difference = after - before
    return 0.0 if abs(difference) < 1e-12 else difference


def stream(gamma, arrivals, constant, relevance=None):
    """The five rules of 7.4; gamma gives the dependency of a list of features.

    Returns the members after each arrival, and what was decided: ("accepted" | "replaces" |
    "discarded", rule, the member concerned or None).
    """
    members, decisions, prefixes = [], [], []
    for f in arrivals:
        decided = ("discarded", "constant", None)
        if not constant[f]:
            decided = _arrive(gamma, f, members, relevance)
        if decided[0] == "replaces":
            members.remove(decided[2])
        if decided[0] != "discarded":
            members.append(f)
        decisions.append(decided)
        prefixes.append(list(members))
    return prefixes, decisions


def _arrive(gamma, f, members, relevance):
    own = gamma([f])
    if not members:
        return ("accepted" if own >= 1e-12 else "discarded", "first", None)
    gain = significance(gamma([*members, f]), gamma(members))
    if gain != 0:
        return ("accepted" if gain > 0 else "discarded", "significance", None)
    threshold = relevance
    if threshold is None:
        threshold = sum(gamma([g]) for g in members) / len(members)
    if key(own) < key(threshold):
        return ("discarded", "relevance", None)
    for g in members:
        if significance(gamma([g, f]), gamma([g])) <= 0:
            better = key(own) > key(gamma([g]))
            return ("replaces" if better else "discarded", "redundancy", g)
    return ("accepted", "relevance", None)


def a3m(gamma, arrivals, constant, shuffle):
    """OFS-A3M; shuffle puts the other members in the order in which they are looked at.

    Returns the members after each arrival, and ("accepted" | "discarded", rule, those dropped).
    """
    members, decisions, prefixes, held = [], [], [], 0.0
    for step, f in enumerate(arrivals):
        decided = ("discarded", "constant", [])
        if not constant[f]:
            own = gamma([f])
            mean = sum(gamma([g]) for g in members) / len(members) if members else 0.0
            if key(own) < key(mean):
                decided = ("discarded", "relevance", [])
            else:
                joined = gamma([*members, f])
                gain = significance(joined, held)
                if gain > 0:
                    members.append(f)
                    held = joined
                    decided = ("accepted", "significance", [])
                elif gain == 0:
                    dropped = []
                    for g in shuffle(step, members):
                        rest = [m for m in [*members, f] if m != g and m not in dropped]
                        if significance(gamma(rest), joined) == 0:
                            dropped.append(g)
                            joined = gamma(rest)
                    members = [*[m for m in members if m not in dropped], f]
                    held = joined
                    decided = ("accepted", "equal", dropped)
                else:
                    decided = ("discarded", "significance", [])
        decisions.append(decided)
        prefixes.append(list(members))
    return prefixes, decisions
