"""Goldens: recorded runs kept as test cases, as folders of JSON text with what is expected of their replay."""
