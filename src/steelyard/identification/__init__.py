"""The whole way: logs to estimate, validation and certificate; drive gains."""
