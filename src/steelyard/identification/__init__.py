"""From logs to estimate, validation and certificate; drive gains."""
