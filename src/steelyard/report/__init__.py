"""One offline HTML file that shows a result: no scripts, nothing loaded from elsewhere."""
