"""Writers of robot files: what goes out is physical on the digits that are written."""
