"""DML-kNN in plain loops, from the paper."""

from reference.neighbors import nearest


def counting_vectors(neighbors, labels):
    """For each row, how many of its neighbours carry each label."""
    q = len(labels[0])
    return [[sum(labels[j][label] for j in near) for label in range(q)] for near in neighbors]


def scores(
    train, labels, queries, *, k=10, s=1.0, delta=6, order=None, nominal=None, normalize="minmax"
):
    """Score of each label for each query."""
    n, q = len(train), len(labels[0])
    k = min(k, n - 1)
    options = {"order": order, "nominal": nominal, "normalize": normalize}
    around = counting_vectors(nearest(train, None, k, **options)[1], labels)
    own = counting_vectors(nearest(train, queries, k, **options)[1], labels)
    out = []
    for mine in own:
        alike = [i for i in range(n) if all(abs(around[i][m] - mine[m]) <= delta for m in range(q))]
        row = []
        for label in range(q):
            n_with = sum(each[label] for each in labels)
            prior = (s + n_with) / (2 * s + n)
            same = [i for i in alike if around[i][label] == mine[label]]
            votes = sum(labels[i][label] for i in same)
            below, below_lack = s * q + n_with, s * q + n - n_with
            p1 = prior * ((s + votes) / below if below else 0.0)
            p0 = (1 - prior) * ((s + len(same) - votes) / below_lack if below_lack else 0.0)
            row.append(p1 / (p1 + p0) if p1 + p0 else p1)
        out.append(row)
    return out
