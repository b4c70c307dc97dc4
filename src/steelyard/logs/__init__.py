"""`Log`: measured signals as recorded, and the readers and writers of log files."""
