"""Splits, metrics and the protocol that judges selectors.

`splits` says which rows train and test, also `grouped` or `stratified`; `points` at how many
features a ranking is judged; `protocol` judges it by `metrics`. `stability` tells how far folds
agree, `stats` whether methods differ.
"""
