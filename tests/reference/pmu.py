"""PMU in plain loops, from the paper; for at most 60 rows."""

from itertools import combinations

from reference.information import codes_of, greedy, information, interaction


def pmu_order(X, Y, *, nominal=(), limit=None):
    """Order of choice and J of each choice, without constants."""
    labels = [[int(v) for v in Y[:, k]] for k in range(Y.shape[1])]

    def criterion(f, chosen):
        relevance = sum(information(f, y) for y in labels)
        between_labels = sum(interaction(f, a, b) for a, b in combinations(labels, 2))
        redundancy = sum(sum(interaction(f, s, y) for y in labels) for s in chosen)
        return relevance - between_labels - redundancy

    constant = X.min(axis=0) == X.max(axis=0)
    return greedy(codes_of(X, nominal), constant, criterion, limit)
