"""A dry look at an agent: what of it would be recorded, and what of it a replay could answer, told by reading alone.

Nothing of the agent is imported or run: its source is read, as a replay does before the start, and what is installed is
looked up in the metadata of packages. What only running could tell is said to be so.
"""

from runreel.replay.looking.look import Finding, Looked, look

__all__ = ["Finding", "Looked", "look"]
