"""Runs: spans and log events put together into what an agent did, and judged."""
