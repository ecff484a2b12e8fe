import pytest

from runreel.processors.redact.budget import Budget, BudgetExceededError


def test_a_budget_ends_with_its_clock() -> None:
    now = 0.0
    budget = Budget(2.0, lambda: now)

    budget.check()
    now = 3.0

    with pytest.raises(BudgetExceededError):
        for _ in range(100):
            budget.check()


def test_a_clock_that_stands_still_ends_nothing() -> None:
    budget = Budget(2.0, lambda: 5.0)

    for _ in range(1000):
        budget.check()


def test_the_time_runs_from_the_first_call_on_and_not_before() -> None:
    now = 0.0
    budget = Budget(2.0, lambda: now)
    now = 5.0

    budget.begin()
    now = 6.0
    budget.begin()
    budget.check()
    now = 7.5

    with pytest.raises(BudgetExceededError):
        for _ in range(100):
            budget.check()
