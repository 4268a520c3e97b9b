"""Images from a folder or from Parquet files, as rows that are not decoded yet."""

import os
from typing import Any

from ._packages import package


def read_images(path: str | os.PathLike[str], **options: Any) -> Any:
    """A Ray dataset of the images at this path, for `Predictor`.

    Parquet files (a path that ends in `.parquet`, or a local folder with such files) keep their columns. A folder of image
    files becomes the columns `image` (the file's bytes) and `path`. `options` go to `ray.data.read_parquet` or
    `ray.data.read_binary_files`. Nothing is decoded here: `ray.data.read_images` does that, and ends the job at the first file
    that is no image.

    Raises `MissingPackage` without Ray, and Ray's own errors for a path that it cannot read.
    """
    data = package("ray.data", "blocktensor.ray.read_images")
    text = os.fspath(path)
    if _is_parquet(text):
        return data.read_parquet(text, **options)
    return data.read_binary_files(text, include_paths=True, **options).rename_columns({"bytes": "image"})


def _is_parquet(path: str) -> bool:
    if path.endswith(".parquet"):
        return True
    return os.path.isdir(path) and any(name.endswith(".parquet") for name in os.listdir(path))
