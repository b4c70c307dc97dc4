"""From a `Log` to `Motion` and `Measurements`: filters, derivatives, time base, dead band."""
