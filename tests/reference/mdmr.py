"""MDMR in plain loops, from the paper; for at most 60 rows."""

from reference.information import codes_of, conditional, greedy, information


def mdmr_order(X, Y, *, nominal=(), limit=None):
    """Order of choice and J of each choice, without constants."""
    labels = [[int(v) for v in Y[:, k]] for k in range(Y.shape[1])]

    def criterion(f, chosen):
        relevance = sum(information(f, y) for y in labels)
        parts = [information(f, s) - sum(conditional(f, y, s) for y in labels) for s in chosen]
        return relevance - (sum(parts) / len(parts) if parts else 0.0)

    constant = X.min(axis=0) == X.max(axis=0)
    return greedy(codes_of(X, nominal), constant, criterion, limit)
