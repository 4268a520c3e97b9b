"""What is measured here stays out of the user's cache."""

import os
import tempfile

_FOLDER = tempfile.TemporaryDirectory(prefix="blocktensor-tests-")
os.environ["BLOCKTENSOR_CACHE"] = _FOLDER.name
