"""Calls of PyTorch that are several ops of blocktensor, comparisons, sorting and indexing: entries of the table."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ._values import TABLE, Builder, Unsupported, Value, aten, pair
