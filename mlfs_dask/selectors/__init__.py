"""Feature selectors: one file per family of methods, worn as scikit-learn estimators."""
