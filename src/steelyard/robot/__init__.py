"""`Robot`: the tree of links and joints as its file states it, inertia and its conventions."""
