"""Hostile files, made by code when the tests run: each must be refused by name, in one line.

Every module ``*_cases.py`` has a list ``CASES``. `run.py` runs all of them in one process of its
own, each in a fork with limits on memory and processor time; `tests/files/test_hostile.py` judges.
"""
