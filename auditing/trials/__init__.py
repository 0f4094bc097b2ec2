"""Samples of an implementation on neighbouring datasets: how they are drawn and kept."""
