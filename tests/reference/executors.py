"""Executors for tests: results in order of items, work in any order, everything through pickle."""

import pickle
import random

from mlfs_dask.graphs.executor import _call


class Shuffled:
    """Runs the items in a random order and sends everything through pickle, as a cluster would."""

    def __init__(self, seed=0, n_workers=3):
        self.n_workers = n_workers
        self.calls = []
        self._random = random.Random(seed)

    def map(self, function, items, *common):
        indices = list(range(len(items)))
        self._random.shuffle(indices)
        self.calls.append((function.__name__, len(indices)))
        results = {}
        for index in indices:
            sent = pickle.loads(pickle.dumps((function, items[index], *common)))
            results[index] = pickle.loads(pickle.dumps(_call(sent[0], sent[1], *sent[2:])))
        yield from (results[index] for index in range(len(indices)))

    def share(self, value):
        return value

    def keep(self, function, items, *common):
        return list(self.map(function, items, *common))
