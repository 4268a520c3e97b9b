"""The examples in the documentation run."""

import doctest

import blocktensor
import blocktensor.ops
import blocktensor.testing
import pytest


@pytest.mark.parametrize("module", [blocktensor, blocktensor.ops, blocktensor.testing])
def test_examples(module):
    result = doctest.testmod(module)
    assert result.failed == 0 and result.attempted > 0
