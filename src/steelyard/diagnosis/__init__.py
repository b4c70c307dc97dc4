"""Findings: warnings about an estimate and its logs."""
