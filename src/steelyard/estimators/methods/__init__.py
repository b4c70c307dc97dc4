"""One module per family of estimators; each lists its entries in ``ESTIMATORS``.

`steelyard.estimators.registry` finds them, so a new estimator is a new module here. The command
line reads the entries for its help: what an estimator computes with is imported when it runs.
"""
