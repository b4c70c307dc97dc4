"""Logs: what was measured, as recorded, and how to read and write it."""

from steelyard.logs.log import Log
from steelyard.logs.reading import read_log
from steelyard.logs.writer_csv import write_csv

__all__ = ["Log", "read_log", "write_csv"]
