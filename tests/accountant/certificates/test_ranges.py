"""Certificates of composed bounded ranges prove nearly what the recursion brackets."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import proofs
from accountant import (
    GDP,
    BoundedRange,
    Laplace as LaplacePair,
)
