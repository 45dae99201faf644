"""Plain twins of the measures: row by row, in loops, by all conventions.

Every function returns (value, n_scored), the value None where nothing is left to average.
"""

Row = list[int]


def strict_rank(scores: list[float], label: int) -> int:
    """1 + labels that rank above: higher score, or equal score and higher index."""
    rank = 1
    for other, score in enumerate(scores):
        if score > scores[label] or (score == scores[label] and other > label):
            rank += 1
    return rank


def worst_rank(scores: list[float], label: int) -> int:
    """Labels whose score is at least this label's."""
    return sum(1 for score in scores if score >= scores[label])


def one_error(truth: Row, scores: list[float], conventions: str) -> float | None:
    if sum(truth) == 0 and conventions != "mulan":
        return None
    if sum(truth) == len(truth) and conventions == "zhang":
        return None
    for label in range(len(truth)):
        if strict_rank(scores, label) == 1:
            return 0.0 if truth[label] else 1.0
    raise AssertionError("some label has rank 1")


def coverage(truth: Row, scores: list[float], conventions: str) -> float | None:
    relevant = [label for label in range(len(truth)) if truth[label]]
    if not relevant:
        return -1.0 if conventions == "zhang" else 0.0
    if conventions == "sklearn":
        return float(max(worst_rank(scores, label) for label in relevant))
    return float(max(strict_rank(scores, label) for label in relevant) - 1)


def ranking_loss(truth: Row, scores: list[float], conventions: str) -> float | None:
    relevant = [label for label in range(len(truth)) if truth[label]]
    irrelevant = [label for label in range(len(truth)) if not truth[label]]
    if not relevant:
        return 0.0 if conventions in ("mulan", "sklearn") else None
    if not irrelevant:
        return None if conventions == "zhang" else 0.0
    wrong = 0
    for a in relevant:
        for b in irrelevant:
            if conventions == "mulan":
                wrong += strict_rank(scores, a) > strict_rank(scores, b)
            else:
                wrong += scores[a] <= scores[b]
    return wrong / (len(relevant) * len(irrelevant))


def average_precision(truth: Row, scores: list[float], conventions: str) -> float | None:
    relevant = [label for label in range(len(truth)) if truth[label]]
    if not relevant:
        return 1.0 if conventions == "sklearn" else None
    if len(relevant) == len(truth):
        return None if conventions == "zhang" else 1.0
    rank = worst_rank if conventions == "sklearn" else strict_rank
    total = 0.0
    for label in relevant:
        own = rank(scores, label)
        total += sum(1 for other in relevant if rank(scores, other) <= own) / own
    return total / len(relevant)


def auc(truth: list[int], scores: list[float], weights: list[float]) -> float | None:
    won = pairs = 0.0
    for i in range(len(truth)):
        for j in range(len(truth)):
            if truth[i] and not truth[j]:
                weight = weights[i] * weights[j]
                pairs += weight
                if scores[i] > scores[j]:
                    won += weight
                elif scores[i] == scores[j]:
                    won += weight / 2
    return won / pairs if pairs else None


def hamming_loss(truth: Row, decided: Row, conventions: str) -> float:
    return sum(1 for t, z in zip(truth, decided, strict=True) if t != z) / len(truth)


def subset_accuracy(truth: Row, decided: Row, conventions: str) -> float:
    return 1.0 if truth == decided else 0.0


def accuracy(truth: Row, decided: Row, conventions: str) -> float:
    both = sum(1 for t, z in zip(truth, decided, strict=True) if t and z)
    either = sum(1 for t, z in zip(truth, decided, strict=True) if t or z)
    return both / either if either else _nothing(conventions)


def precision(tp: float, fp: float, fn: float, conventions: str) -> float:
    if tp + fp + fn == 0:
        return _nothing(conventions)
    return tp / (tp + fp) if tp + fp else 0.0


def recall(tp: float, fp: float, fn: float, conventions: str) -> float:
    if tp + fp + fn == 0:
        return _nothing(conventions)
    return tp / (tp + fn) if tp + fn else 0.0


def f1(tp: float, fp: float, fn: float, conventions: str) -> float:
    if tp + fp + fn == 0:
        return _nothing(conventions)
    return 2 * tp / (2 * tp + fp + fn)


def _nothing(conventions: str) -> float:
    return 0.0 if conventions == "sklearn" else 1.0


_ROWS = {
    "one_error": one_error,
    "coverage": coverage,
    "ranking_loss": ranking_loss,
    "average_precision": average_precision,
    "hamming_loss": hamming_loss,
    "subset_accuracy": subset_accuracy,
    "accuracy": accuracy,
}
_RATES = {"precision": precision, "recall": recall, "f1": f1}


def score(name, truth, scores, decided, conventions, weights=None):
    """(value or None, n_scored) of a measure; matrices are lists of rows."""
    n, q = len(truth), len(truth[0])
    weights = [1.0] * n if weights is None else weights
    if name in _ROWS:
        second = scores if name in list(_ROWS)[:4] else decided
        values = [_ROWS[name](truth[i], second[i], conventions) for i in range(n)]
        return _weighted(values, weights)
    if name == "auc_macro":
        columns = [
            auc([row[j] for row in truth], [row[j] for row in scores], weights) for j in range(q)
        ]
        return _weighted(columns, [1.0] * q)
    rate, _, average = name.partition("_")
    if average == "example":
        values = [
            _RATES[rate](*_confusion(truth, decided, [i], range(q), [1.0] * n), conventions)
            for i in range(n)
        ]
        return _weighted(values, weights)
    if average == "macro":
        values = [
            _RATES[rate](*_confusion(truth, decided, range(n), [j], weights), conventions)
            for j in range(q)
        ]
        return _weighted(values, [1.0] * q)
    value = _RATES[rate](*_confusion(truth, decided, range(n), range(q), weights), conventions)
    return value, sum(1 for weight in weights if weight > 0)


def _confusion(truth, decided, rows, labels, weights):
    tp = fp = fn = 0.0
    for i in rows:
        for j in labels:
            tp += weights[i] * (truth[i][j] and decided[i][j])
            fp += weights[i] * (not truth[i][j] and decided[i][j])
            fn += weights[i] * (truth[i][j] and not decided[i][j])
    return tp, fp, fn


def _weighted(values, weights):
    total = mass = 0.0
    n_scored = 0
    for value, weight in zip(values, weights, strict=True):
        if value is not None and weight > 0:
            total += weight * value
            mass += weight
            n_scored += 1
    return (total / mass if n_scored else None), n_scored
