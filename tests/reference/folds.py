"""Folds in plain loops: iterative stratification (Sechidis et al. 2011) and groups."""

from fractions import Fraction

import numpy as np


def stream(seed, repeat):
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, repeat)))


def sizes_of(n, folds):
    return [len(part) for part in np.array_split(np.arange(n), folds)]


def iterative(Y, folds, seed, repeat):
    """Algorithm 1 with exact ratios; a full fold is out. Sets of rows per fold."""
    rows = [{label for label, value in enumerate(row) if value} for row in Y]
    n = len(rows)
    generator = stream(seed, repeat)
    order = [int(row) for row in generator.permutation(n)]
    draws = [float(draw) for draw in generator.random(n)]
    room = sizes_of(n, folds)
    n_labels = len(Y[0])
    wanted = [
        [Fraction(sum(label in row for row in rows) * size, n) for size in room]
        for label in range(n_labels)
    ]
    tests = [set() for _ in range(folds)]
    remaining = list(order)
    while any(rows[row] for row in remaining):
        counts = [sum(label in rows[row] for row in remaining) for label in range(n_labels)]
        rarest = min((count, label) for label, count in enumerate(counts) if count)[1]
        for row in [row for row in remaining if rarest in rows[row]]:
            open_folds = [fold for fold in range(folds) if room[fold]]
            most = max((wanted[rarest][fold], room[fold]) for fold in open_folds)
            tied = [fold for fold in open_folds if (wanted[rarest][fold], room[fold]) == most]
            chosen = tied[int(draws[row] * len(tied))]
            tests[chosen].add(row)
            room[chosen] -= 1
            for label in rows[row]:
                wanted[label][chosen] -= 1
            remaining.remove(row)
    for fold in range(folds):
        while room[fold]:
            tests[fold].add(remaining.pop(0))
            room[fold] -= 1
    return tests


def groups(codes, folds, seed, repeat):
    """Largest group first to the fold with the fewest rows. Sets of rows per fold."""
    names = sorted(set(codes))
    generator = stream(seed, repeat)
    shuffled = [names[at] for at in generator.permutation(len(names))]
    turn = [int(place) for place in generator.permutation(folds)]
    tests = [set() for _ in range(folds)]
    for name in sorted(shuffled, key=lambda name: -codes.count(name)):  # stable
        chosen = min(range(folds), key=lambda fold: (len(tests[fold]), turn[fold]))
        tests[chosen] |= {row for row, code in enumerate(codes) if code == name}
    return tests
