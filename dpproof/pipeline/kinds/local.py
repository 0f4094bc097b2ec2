"""Words for reports that each person makes of one category."""

from __future__ import annotations

from collections.abc import Mapping

from dpproof.mechanisms import (
    LocalHashing,
    RandomizedResponse,
    Rappor,
    SubsetSelection,
    UnaryEncoding,
)
from dpproof.pipeline.kinds.kind import Kind, declared

KINDS: Mapping[str, Kind] = {
    "randomized-response": declared("randomized response", RandomizedResponse),
    "unary-encoding": declared("unary encoding", UnaryEncoding),
    "rappor": declared("RAPPOR", Rappor),
    "local-hashing": declared("local hashing", LocalHashing),
    "subset-selection": declared("subset selection", SubsetSelection),
}
