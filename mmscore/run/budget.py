"""What a run may cost: tokens, money, time; when one is used up, the run stops in order.

What is in flight then is finished and kept, so up to as many requests as are in flight may go
beyond. Replies kept from earlier cost nothing now and do not count.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from mmscore.config.price import Price
from mmscore.errors import BudgetError
from mmscore.types import Usage


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one command may spend; None where there is no limit.

    Attributes:
        tokens: Prompt and completion together, of the model's own requests.
        cost: In the currency of the price.
        seconds: Since the first request.
    """

    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None


class Budget:
    """Adds up what requests cost; safe to use from all workers."""

    def __init__(
        self, limits: Limits, price: Price | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with nothing spent, now.

        Args:
            limits: The most that may be spent.
            price: What tokens cost; needed where `limits.cost` is set.
            clock: Seconds from any beginning.
        """
        self._limits = limits
        self._price = price
        self._clock = clock
        self._began = clock()
        self._lock = threading.Lock()
        self._tokens = 0
        self._cost = 0.0

    def spend(self, usage: Usage) -> None:
        """Count what one request took.

        Raises:
            BudgetError: With it a limit is reached.
        """
        with self._lock:
            self._tokens += (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
            if self._price is not None:
                self._cost += self._price.of(usage.prompt_tokens, usage.completion_tokens)
        self.check()

    def check(self) -> None:
        """Look at the limits again.

        Raises:
            BudgetError: One is reached; the sentence says which.
        """
        limits = self._limits
        spent = self._clock() - self._began
        if limits.tokens is not None and self._tokens >= limits.tokens:
            reason = f"{self._tokens:,} tokens were used, of {limits.tokens:,} (--max-tokens-total)"
        elif limits.cost is not None and self._cost >= limits.cost:
            reason = f"{self._cost:.4g} was spent, of {limits.cost:g} (--max-cost)"
        elif limits.seconds is not None and spent >= limits.seconds:
            reason = f"{spent:.0f} s went by, of {limits.seconds:g} (--max-time)"
        else:
            return
        raise BudgetError(f"the budget is used up: {reason}", hint="go on later with --resume")
