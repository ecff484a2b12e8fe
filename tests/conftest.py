"""What holds for every test."""

from hypothesis import HealthCheck, settings

# No test asserts a duration, and neither do the property tests: a busy machine finds no faults.
settings.register_profile("runreel", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("runreel")
