"""One module per family of estimators; each lists its entries in ``ESTIMATORS``.

`steelyard.estimators.registry` finds them, so a new estimator is a new module here. Import what an
estimator computes with inside its function: the command line imports these modules for its help.
"""
