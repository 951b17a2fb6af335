"""HMM+Entity and HMM+Content: combinations of a syntax HMM with another model (Louis & Nenkova 2012).

Reference: A. Louis and A. Nenkova, "A coherence model based on syntactic patterns", EMNLP 2012.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from weft.models.common.trained_model import TrainedModel
from weft.models.hmm.combination import Combination, CombinationFields, check_parts
from weft.protocols import ModelCard
from weft.settings import Settings, setting


@dataclass(frozen=True, kw_only=True)
class HmmEntitySettings(CombinationFields, Settings):
    """Settings of `hmm-entity`."""

    model_name: ClassVar[str] = "hmm-entity"
    syntax: dict[str, Any] = setting({}, "Settings of the part syntax-hmm.")
    entity: dict[str, Any] = setting({}, "Settings of the part entity-grid.")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parts(self.model_name, syntax=self.syntax, entity=self.entity)


class HmmEntity(Combination, TrainedModel):
    """HMM+Entity: the syntax HMM and the entity grid, weighted by a ranker.

    Example:
        >>> model = HmmEntity(HmmEntitySettings(syntax={"clusters": 4}, entity={"longest": 2}))
        >>> sorted(model.new_parts())
        ['entity', 'syntax']
    """

    registered: ClassVar[Mapping[str, str]] = {"syntax": "syntax-hmm", "entity": "entity-grid"}
    card = ModelCard(
        summary="the syntax HMM and the entity grid, combined",
        reference="Louis & Nenkova 2012; Barzilay & Lapata 2008",
        score_range="any number",
        meaning="structures and entities follow each other as in texts of the domain",
        comparable="only between orders of one text",
        needs="the extra `parse`; trained weights (pip install ./zoo) or training",
        extra="parse",
    )
    Settings = HmmEntitySettings
    settings: HmmEntitySettings


@dataclass(frozen=True, kw_only=True)
class HmmContentSettings(CombinationFields, Settings):
    """Settings of `hmm-content`."""

    model_name: ClassVar[str] = "hmm-content"
    syntax: dict[str, Any] = setting({}, "Settings of the part syntax-hmm.")
    content: dict[str, Any] = setting({}, "Settings of the part content-hmm.")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parts(self.model_name, syntax=self.syntax, content=self.content)


class HmmContent(Combination, TrainedModel):
    """HMM+Content: the syntax HMM and the content HMM, weighted by a ranker.

    Example:
        >>> HmmContent(HmmContentSettings(content={"clusters": 4})).part_settings
        {'syntax': {}, 'content': {'clusters': 4}}
    """

    registered: ClassVar[Mapping[str, str]] = {"syntax": "syntax-hmm", "content": "content-hmm"}
    card = ModelCard(
        summary="the syntax HMM and the content HMM, combined",
        reference="Louis & Nenkova 2012; Barzilay & Lee 2004",
        score_range="any number",
        meaning="structures and topics follow each other as in texts of the domain",
        comparable="only between orders of one text",
        needs="the extra `parse`; trained weights (pip install ./zoo) or training",
        extra="parse",
    )
    Settings = HmmContentSettings
    settings: HmmContentSettings
