"""Which versions of HTTP libraries are answered for: those that the tests run."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final

from runreel.errors import RefusedError

# First version, and first version beyond.
TESTED: Final = {
    "aiohttp": ((3, 9), (4,)),
    "httpx": ((0, 24), (1,)),
    "httpx2": ((2,), (3,)),
    "requests": ((2, 28), (3,)),
    "urllib3": ((1, 26), (3,)),
}


def require_tested() -> None:
    """Raise RefusedError where an installed library is outside its range: nobody knows what it would do."""
    wrong = [text for package in TESTED if (text := outside(package, *TESTED[package]))]
    if wrong:
        raise RefusedError(f"replay cannot answer for {'; nor for '.join(wrong)}; install versions that are tested")


def check(package: str) -> None:
    """Raise RefusedError where one library is outside its range."""
    text = outside(package, *TESTED[package])
    if text:
        raise RefusedError(f"replay cannot answer for {text}; install a version that is tested")


def outside(package: str, first: tuple[int, ...], beyond: tuple[int, ...]) -> str:
    """Say what is wrong with the version that is installed; "" where it is tested, or none is installed."""
    try:
        text = version(package)
    except PackageNotFoundError:
        return ""
    numbers = tuple(int(digits) for digits in text.split(".")[:2] if digits.isdigit())
    if first <= numbers < beyond:
        return ""
    span = f"{'.'.join(map(str, first))} to below {'.'.join(map(str, beyond))}"
    return f"{package} {text}: it is tested with {span}"
