"""The settings of decoding, in a module that does not import PyTorch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from weft.errors import ConfigError, did_you_mean
from weft.settings import check_type

METHODS = ("beam", "diverse", "sample")
GROUPS = 5  # the highest number of groups that is chosen for a diverse beam


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a model searches or samples the next sentence.

    Attributes:
        method: ``beam``, ``diverse`` (groups of beams that avoid each other's words; Vijayakumar et al. 2016) or
            ``sample``.
        beam: Number of hypotheses per context, or of samples.
        groups: Number of groups of a diverse beam; divides ``beam``. 0 chooses the largest divisor up to 5.
        diversity: Penalty of a word that another group has just written, in nats.
        temperature: Temperature of sampling.
        top_k: Sample among the k likeliest words; 0 for all.
        top_p: Sample among the likeliest words whose probabilities sum to this value.
        length_power: Hypotheses are ranked by log-probability divided by length to this power; 0 favours short ones.
        min_tokens: Minimum length of a sentence.
        max_tokens: Maximum length of a sentence.
        no_repeat: Length of token runs that may not repeat within a sentence; 0 for no limit.
        alike: Highest word overlap (Jaccard) with an earlier sentence; ignored if all candidates exceed it.
        draws: Number of latent variables drawn per context, each with a beam of its own (vlv-gm).
        seed: Seed of sampled words and latent variables.

    Raises:
        ConfigError: A value has the wrong type or is out of range.

    Example:
        >>> Decoding(method="sample", top_p=0.8).beam
        10
        >>> Decoding(beam=10).groups, Decoding(beam=6).groups
        (5, 3)
    """

    method: str = "diverse"
    beam: int = 10
    groups: int = 0
    diversity: float = 0.5
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 0.9
    length_power: float = 1.0
    min_tokens: int = 4
    max_tokens: int = 60
    no_repeat: int = 3
    alike: float = 0.4
    draws: int = 5
    seed: int = 1

    def __post_init__(self) -> None:
        for one in fields(self):
            check_type(one.name, getattr(self, one.name), one.default)
        _check(self.method in METHODS, "unknown method", self.method, ", ".join(METHODS))
        _check(1 <= self.beam <= 1000, "beam out of range", self.beam, "1 to 1000")
        if self.groups == 0:
            object.__setattr__(self, "groups", _default_groups(self.method, self.beam))
        _check(
            self.method != "diverse" or (self.groups >= 1 and self.beam % self.groups == 0),
            "groups do not divide the beam", self.groups, f"a divisor of {self.beam}",
        )  # fmt: skip
        _check(self.temperature > 0, "temperature out of range", self.temperature, "above 0")
        _check(0 < self.top_p <= 1, "top_p out of range", self.top_p, "above 0, at most 1")
        _check(self.alike >= 0, "alike out of range", self.alike, "0 or more; from 1 on there is no limit")
        _check(0 <= self.length_power < math.inf, "length_power out of range", self.length_power, "0 or more")
        _check(self.top_k >= 0, "top_k out of range", self.top_k, "0 or more")
        _check(1 <= self.draws <= 100, "draws out of range", self.draws, "1 to 100")
        _check(1 <= self.min_tokens <= self.max_tokens, "lengths out of range", self.min_tokens, "min up to max tokens")

    @classmethod
    def from_options(cls, options: Mapping[str, Any], base: Decoding | None = None) -> Decoding:
        """Return settings from named options.

        Raises:
            ConfigError: ``base`` is not a Decoding, a name is unknown, or a value is wrong.

        Example:
            >>> Decoding.from_options({"method": "sample", "seed": 3}).seed
            3
        """
        if base is not None and not isinstance(base, Decoding):
            raise ConfigError(
                "not settings of decoding",
                seen=base,
                allowed="a weft.Decoding",
                next_step="pass decoding=weft.Decoding(...), or its options by name",
            )
        known = [one.name for one in fields(cls)]
        for name in options:
            if name not in known:
                raise ConfigError(
                    "unknown option", seen=name, allowed=did_you_mean(name, known), next_step="choose one of them"
                )
        if base is None:
            return cls(**options)
        chosen_before = base.groups != _default_groups(base.method, base.beam)
        return replace(base, **{**({} if chosen_before else {"groups": 0}), **options})


def _default_groups(method: str, beam: int) -> int:
    """Return the number of groups if none is given: the largest divisor of a diverse beam up to `GROUPS`."""
    if method != "diverse":
        return GROUPS
    return next(number for number in range(min(GROUPS, beam), 0, -1) if beam % number == 0)


def _check(valid: bool, what: str, seen: object, allowed: str) -> None:
    if not valid:
        raise ConfigError(what, seen=seen, allowed=allowed, next_step="change the decoding option")
