"""Multi-label classifiers: one file per family, worn as scikit-learn estimators."""
