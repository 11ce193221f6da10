"""Importing this replaces the compile step: `pytest -p guide_export.installed`, with this folder on the path."""

from guide_export import operators

operators.install()
