"""A report as one offline HTML file: no scripts, no external resources."""
