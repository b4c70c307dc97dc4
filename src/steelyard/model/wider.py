"""Models with more terms."""

from __future__ import annotations

from steelyard.model.model import Model
from steelyard.model.terms import joint_terms
from steelyard.model.weight_offsets import weight_offsets


def with_default_terms(model: Model) -> Model:
    """The model with its own terms and all default terms of its joints.

    A model whose terms act along couplings or motors is returned unchanged: its drives were
    stated explicitly. Offsets of slides that cannot be told from weight are not added.
    """
    own = {term.name for term in model.terms}
    coupled = any(len(term.direction) > 1 for term in model.terms)
    if coupled or model.robot.transmission is not None:
        return model
    more = [term for term in joint_terms(model.robot.joint_names) if term.name not in own]
    like_weight = weight_offsets(model.robot, (*model.terms, *more))
    more = [term for term in more if term not in like_weight]
    return Model(model.robot, (*model.terms, *more)) if more else model
