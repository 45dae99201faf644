"""MDDM by its definition: d x d matrices and eigenvectors."""

import numpy as np
from scipy.linalg import eigh

from reference.spec import min_max, one_hot


def mddm_scores(X, Y, constraint, *, mu=0.5, normalize="minmax", nominal=()):
    """Sum of λ_t P_jt² over the eigenvectors of the pair (S, B), nominal columns summed."""
    columns, feature = [], []
    scaled = min_max(X) if normalize == "minmax" else np.asarray(X, dtype=float)
    for r in range(X.shape[1]):
        codes = [float(v) for v in X[:, r]]
        coded = r in nominal and not set(codes) <= {0.0, 1.0} and min(codes) < max(codes)
        parts = one_hot(codes) if coded else [scaled[:, r] - scaled[0, r]]
        columns += [np.asarray(part, dtype=float) for part in parts]
        feature += [r] * len(parts)
    centred = np.column_stack(columns)
    centred = centred - centred.mean(axis=0)
    labels = Y - Y.mean(axis=0)
    S = centred.T @ labels @ (centred.T @ labels).T
    B = np.eye(len(S))
    if constraint == "spc":
        B = mu * centred.T @ centred + (1 - mu) * np.eye(len(S))
    values, vectors = eigh(S, B)
    by_column = (np.maximum(values, 0.0) * vectors**2).sum(axis=1)
    scores = np.zeros(X.shape[1])
    np.add.at(scores, feature, by_column)
    return scores
