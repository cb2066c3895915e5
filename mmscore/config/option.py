"""What one row of the table of options says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mmscore.config.kinds import Kind

Effect = Literal["request", "data", "score", "way"]
"""What a change of an option means for a run that goes on, and for shards that are to be one run:

- `request`: other questions or other words. Replies are matched anew; shards must agree.
- `data`: which or where the data are. Replies are matched anew; shards may differ.
- `score`: what a reply is worth, or what the report calls it. Replies stay; shards must agree.
- `way`: how, where or how fast is asked. Replies stay; shards may differ.
"""


@dataclass(frozen=True, slots=True)
class Option:
    """One thing that a user can set.

    Attributes:
        place: Where a task keeps it: a field of `TaskConfig`, or a place inside one, with `*` for
            each benchmark or judge (`dataset_args.*.filters`); empty where it is no part of a task.
        kind: What its value may be.
        help: What `--help` says, in a few words.
        flag: Its flag.
        commands: The commands that take the flag.
        evalscope: EvalScope's name of it; `eval` has a flag of that name.
        env: The variables that say it where neither flag nor file does; the first that is set.
        late: Its variables are read when it is needed, and what they say is never stored.
        metavar: How help calls its value, where the kind's word is not enough.
        default: What holds where nobody says anything.
        effect: What a change of it means for a run that goes on.
        stored: Whether `run.json` keeps it.
        secret: Whether its value is a key.
        common: Whether `--help` shows it; `--help-all` shows all.
        required: Whether the command cannot do without it.
        words: Command -> what help says there instead.
        more: What the documentation says, where `help` leaves something open.
        only: The only values it may have, None apart; no field holds it.
        refused: Why any other is refused.
        ignored: Any value of it is taken, and none means anything.
        instead: The place where a task keeps what it says, an older name of which it is.
        steers: Whether it steers the client and never reaches the request body.
    """

    place: str
    kind: Kind
    help: str
    flag: str = ""
    commands: str = ""
    evalscope: str = ""
    env: tuple[str, ...] = ()
    late: bool = False
    metavar: str = ""
    default: Any = None
    effect: Effect = "request"
    stored: bool = True
    secret: bool = False
    common: bool = True
    required: bool = False
    words: Mapping[str, str] = field(default_factory=dict)
    more: str = ""
    only: tuple[object, ...] | None = None
    refused: str = ""
    ignored: bool = False
    instead: str = ""
    steers: bool = False

    @property
    def kept(self) -> bool:
        """Whether a task keeps it."""
        return bool(self.place) and self.only is None and not (self.ignored or self.instead)

    @property
    def key(self) -> str:
        """The last part of its place: its name inside the field."""
        return self.place.rpartition(".")[2]

    def takes(self, command: str) -> str:
        """The flag by which a command takes it; empty where it does not."""
        if command == "eval" and self.evalscope and "." not in self.place:
            return "--" + self.evalscope.replace("_", "-")
        return self.flag if command in self.commands.split() else ""
