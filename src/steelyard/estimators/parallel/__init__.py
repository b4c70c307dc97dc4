"""Work spread over helper processes, with the same result for any number of them."""
