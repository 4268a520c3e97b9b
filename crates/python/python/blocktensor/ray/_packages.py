"""Packages of others that are imported only where they are needed."""

import importlib
from types import ModuleType

from .._errors import MissingPackage

_INSTALLED_BY = {"ray": "'ray[data]'", "PIL": "pillow"}


def package(name: str, needed_for: str) -> ModuleType:
    """The module, or an error that says how to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as e:
        # A package that is there, but lacks one of its own needs, says so itself.
        if e.name is None or not (name == e.name or name.startswith(f"{e.name}.")):
            raise
        install = f"pip install {_INSTALLED_BY.get(e.name, e.name)}"
        made = MissingPackage(f"{needed_for} needs the package `{e.name}`, which is not installed; run `{install}`")
        made.op, made.remedy = needed_for, f"run `{install}`"
        raise made from None
