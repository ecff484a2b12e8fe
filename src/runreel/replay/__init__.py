"""Run a recorded agent again, answered from its record: `from runreel.replay import replay`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runreel.replay.engine import replay as replay

__all__ = ["replay"]


def __getattr__(name: str) -> Any:
    """Import the replay only when it is asked for: the agent's own process imports this package, too."""
    if name in __all__:
        from runreel.replay import engine

        return getattr(engine, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
