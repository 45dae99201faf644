"""br, lp, rakel and clr in plain loops, from the papers.

``learn(rows, classes)`` gives a function of a row that returns {class: probability}.
"""

import itertools
from fractions import Fraction

from reference.neighbors import nearest


def neighbor_shares(k, normalize="minmax", nominal=None):
    """A learner: shares of the classes among the k nearest rows, exact."""

    def learn(rows, classes):
        near = min(k, len(rows) - 1) if len(rows) <= k else k

        def ask(row):
            _, found = nearest(rows, [row], near, normalize=normalize, nominal=nominal)
            among = [classes[i] for i in found[0]]
            return {c: Fraction(among.count(c), near) for c in set(classes)}

        return ask

    return learn


def _ask(learn, rows, classes, query):
    """Answer of a model, {class: probability}; None without rows, certain with one class."""
    if not rows:
        return None
    if len(set(classes)) == 1:
        return {classes[0]: Fraction(1)}
    return learn(rows, classes)(query)


def br(train, labels, queries, learn):
    """Probability of each label."""
    columns = list(zip(*labels, strict=True))
    return [
        [_ask(learn, train, column, query).get(1, Fraction(0)) for column in columns]
        for query in queries
    ]


def best_set(answer):
    """The most probable label set, the first in order among equals, and its probability."""
    top = max(answer.values())
    return min(s for s, p in answer.items() if p == top), top


def lp(train, labels, queries, learn):
    """Predicted set, its probability and {set: probability}, of each query."""
    sets = [tuple(int(v) for v in row) for row in labels]
    answers = [_ask(learn, train, sets, query) for query in queries]
    return [(*best_set(answer), answer) for answer in answers]


def rakel(train, labels, queries, learn, subsets):
    """Share of the models with a label that predict it."""
    q = len(labels[0])
    out = []
    for query in queries:
        votes, asked = [0] * q, [0] * q
        for subset in subsets:
            sets = [tuple(int(row[a]) for a in subset) for row in labels]
            predicted, _ = best_set(_ask(learn, train, sets, query))
            for a, present in zip(subset, predicted, strict=True):
                votes[a] += present
                asked[a] += 1
        out.append([v / m if m else 0.0 for v, m in zip(votes, asked, strict=True)])
    return out


def _vote(p, soft):
    return p if soft else Fraction(p >= Fraction(1, 2))


def clr(train, labels, queries, learn, soft):
    """Votes of each label and of the virtual label."""
    q = len(labels[0])
    out = []
    for query in queries:
        votes, virtual = [Fraction(0)] * q, Fraction(0)
        for a, b in itertools.combinations(range(q), 2):
            rows = [i for i, row in enumerate(labels) if row[a] != row[b]]
            answer = _ask(learn, [train[i] for i in rows], [labels[i][a] for i in rows], query)
            if answer is None:
                continue
            won = _vote(answer.get(1, Fraction(0)), soft)
            votes[a] += won
            votes[b] += 1 - won
        for a in range(q):
            answer = _ask(learn, train, [row[a] for row in labels], query)
            won = _vote(answer.get(1, Fraction(0)), soft)
            votes[a] += won
            virtual += 1 - won
        out.append((votes, virtual))
    return out
