"""Receivers: bytes in, status out, one file a transport."""
