"""What the signals of a log say is wrong with it, before anything is fitted."""
