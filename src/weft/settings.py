"""Settings of models: one frozen dataclass each, with checks, documentation and what `weft config` prints.

A field is declared with `setting`, which states its default, its meaning and its allowed values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from weft.errors import ConfigError, did_you_mean, is_number

HIGHEST_COUNT = 2**31 - 1  # the largest count that every library below accepts
HIGHEST_SEED = 2**32 - 1
CORRECT_VALUE = "correct the value in the call, in the file or in --set"  # the next step of errors about values
KINDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false", dict: "a table"}


@dataclass(frozen=True, slots=True)
class Rule:
    """The meaning and the allowed values of a setting.

    Attributes:
        help: One sentence on its meaning.
        minimum: Lowest number allowed.
        maximum: Highest number allowed.
        above: Number that the value must stay above.
        below: Number that the value must stay below.
        choices: The allowed texts; empty if any text is allowed.
        adjustable: Whether it can change without training again.
    """

    help: str
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()
    adjustable: bool = False

    @property
    def allowed(self) -> str:
        """The allowed values in words."""
        if self.choices:
            return ", ".join(choice or '""' for choice in self.choices)
        bounds = [
            f"at least {self.minimum}" if self.minimum is not None else "",
            f"at most {self.maximum}" if self.maximum is not None else "",
            f"above {self.above}" if self.above is not None else "",
            f"below {self.below}" if self.below is not None else "",
        ]
        return ", ".join(bound for bound in bounds if bound) or "any value"

    def accepts(self, value: Any) -> bool:
        """Return whether a value of the right type is allowed."""
        if self.choices:
            return value in self.choices
        return (
            (self.minimum is None or value >= self.minimum)
            and (self.maximum is None or value <= self.maximum)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )


def setting(
    default: Any,
    help: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    below: float | None = None,
    choices: Sequence[str] = (),
    adjustable: bool = False,
) -> Any:
    """Declare a field of a `Settings` class.

    Example:
        >>> @dataclass(frozen=True, kw_only=True)
        ... class Sizes(Settings):
        ...     model_name: ClassVar[str] = "seq2seq"
        ...     hidden: int = setting(512, "Size of LSTM states.", minimum=1)
        >>> Sizes(hidden=0)
        Traceback (most recent call last):
        weft.errors.ConfigError: seq2seq.hidden is out of range: saw 0; allowed: at least 1,
        at most 2147483647; next: correct the value in the call, in the file or in --set
    """
    if type(default) is int and maximum is None and below is None:
        maximum = HIGHEST_COUNT
    metadata = {"rule": Rule(help, minimum, maximum, above, below, tuple(choices), adjustable)}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Base class of the settings of all models; the constructor checks the values."""

    model_name: ClassVar[str]  # the name of the model in the registry

    def __post_init__(self) -> None:
        self.check_values(vars(self), self.model_name)

    @classmethod
    def check_values(cls, values: Mapping[str, Any], owner: str) -> None:
        """Raise ConfigError if a value has the wrong type or is out of range; the message names the owner."""
        for one in fields(cls):
            if one.name in values:
                _check(owner, one, values[one.name])

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the names of all settings and their defaults."""
        return {one.name: _default(one) for one in fields(cls)}

    @classmethod
    def rules(cls) -> dict[str, Rule]:
        """Return the rule of each setting."""
        return {one.name: one.metadata["rule"] for one in fields(cls)}

    @classmethod
    def adjustable(cls) -> tuple[str, ...]:
        """Return the names of the settings that can change without training again."""
        return tuple(name for name, rule in cls.rules().items() if rule.adjustable)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """Return settings from a parsed file or command line.

        Raises:
            ConfigError: A name is unknown, or a value has the wrong type or is out of range.
        """
        known = cls.defaults()
        for name in values:
            if name not in known:
                raise ConfigError(
                    f"{cls.model_name} has no setting of that name",
                    seen=name,
                    allowed=did_you_mean(name, known) or "none",
                    next_step=f"run `weft config {cls.model_name}`",
                )
        return cls(**values)

    def parts(self) -> tuple[str, ...]:
        """Return the names of the networks to train, in training order; empty for models without networks."""
        return ()

    def check_run(self) -> None:
        """Raise ConfigError if `weft train` cannot use these settings; called before data are read.

        Raises:
            ConfigError: No run is possible with these settings.
        """

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """Return the settings with some values replaced; all are checked again."""
        return replace(self, **changes)

    def adjusted(self, changes: Mapping[str, Any]) -> Self:
        """Return the settings of a trained model with some values replaced.

        Raises:
            ConfigError: A setting cannot change without training again, or a value is not allowed.
        """
        free = self.adjustable()
        for name in changes:
            if name not in free:
                raise ConfigError(
                    "this setting of a trained model is fixed",
                    seen=name,
                    allowed=", ".join(free) or "none",
                    next_step="omit it, or train again with it",
                )
        return self.changed(changes)

    def to_dict(self) -> dict[str, Any]:
        """Return all values by name, as a model folder stores them."""
        return asdict(self)


def _default(one: Field[Any]) -> Any:
    return one.default if one.default_factory is MISSING else one.default_factory()


def _check(model: str, one: Field[Any], value: object) -> None:
    name = f"{model}.{one.name}"
    check_type(name, value, _default(one))
    rule: Rule = one.metadata["rule"]
    if not rule.accepts(value):
        problem = f"unknown {one.name} for {model}" if rule.choices else f"{name} is out of range"
        raise ConfigError(problem, seen=value, allowed=rule.allowed, next_step=CORRECT_VALUE)


def _kind(default: object) -> str:
    """Return the allowed values of a type in words, with an example."""
    if isinstance(default, tuple | list):
        return 'a list, such as ["a.jsonl"]'
    return f"{KINDS.get(type(default), type(default).__name__)}, such as {default!r}"


def check_count(name: str, value: object) -> None:
    """Raise ConfigError if a value is not a whole number from 1 to `HIGHEST_COUNT`.

    Example:
        >>> check_count("sentences", 0)
        Traceback (most recent call last):
        weft.errors.ConfigError: sentences is out of range: saw 0; allowed: 1 to 2147483647; next: change the value
    """
    check_type(name, value, 1)
    if isinstance(value, int) and not 1 <= value <= HIGHEST_COUNT:
        allowed = f"1 to {HIGHEST_COUNT}"
        raise ConfigError(f"{name} is out of range", seen=value, allowed=allowed, next_step="change the value")


def check_type(name: str, value: object, default: object) -> None:
    """Raise ConfigError if a value has another type than the default, or is not a finite number.

    A default of None accepts any type; a whole number is accepted where the default is a real one.
    """
    whole_for_real = isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool)
    if (whole_for_real or isinstance(value, float)) and not is_number(value):
        raise ConfigError(
            f"{name} is not a finite number", seen=value, allowed="a finite number", next_step=CORRECT_VALUE
        )
    if default is None or whole_for_real or type(value) is type(default):
        return
    raise ConfigError(
        f"{name} has the wrong type",
        seen="null" if value is None else value,
        allowed=_kind(default),
        next_step=CORRECT_VALUE,
    )
