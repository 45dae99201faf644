"""ML-kNN in plain loops, from the paper."""

from reference.neighbors import nearest


def probabilities(
    train, labels, queries, *, k=10, s=1.0, order=None, nominal=None, normalize="minmax"
):
    """Posterior of each label for each query."""
    n, q = len(train), len(labels[0])
    k = min(k, n - 1)
    options = {"order": order, "nominal": nominal, "normalize": normalize}
    _, around = nearest(train, None, k, **options)
    _, near = nearest(train, queries, k, **options)
    out = [[0.0] * q for _ in queries]
    for label in range(q):
        have = [0] * (k + 1)
        lack = [0] * (k + 1)
        for i in range(n):
            count = sum(labels[j][label] for j in around[i])
            if labels[i][label]:
                have[count] += 1
            else:
                lack[count] += 1
        prior = (s + sum(have)) / (2 * s + n)
        for t, neighbors in enumerate(near):
            count = sum(labels[j][label] for j in neighbors)
            out[t][label] = _posterior(prior, have, lack, count, s, k)
    return out


def _posterior(prior, have, lack, count, s, k):
    below, below_lack = s * (k + 1) + sum(have), s * (k + 1) + sum(lack)
    with_label = prior * ((s + have[count]) / below if below else 0.0)
    without = (1 - prior) * ((s + lack[count]) / below_lack if below_lack else 0.0)
    if with_label + without == 0:
        return prior
    return with_label / (with_label + without)
