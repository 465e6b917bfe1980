"""Loaded by each Python that starts under `joulemap run`: layers and steps of programs that know nothing of joulemap.

This folder is first in PYTHONPATH then. The package is imported once the program imports a framework, not before. A
`sitecustomize` of the program's own environment is loaded as if this one were not there.
"""

import importlib
import os
import sys

_FRAMEWORKS = ("torch", "jax", "keras")


class _Finder:
    """Waits for the first framework that the program imports."""

    def find_spec(self, name, path=None, target=None):
        """Follow the program from here on; the import goes on as it would have."""
        if name not in _FRAMEWORKS:
            return None
        try:
            sys.meta_path.remove(self)
            from joulemap import _found_models

            _found_models.follow()
        except Exception:  # another thread was first, or there is no joulemap of ours: the program goes on as ever
            pass
        for finder in list(sys.meta_path):  # also those that came just now
            spec = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                return spec
        return None


def _load_next():
    """Load the `sitecustomize` that this one hides."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    this = sys.modules.pop(__name__)
    try:
        importlib.import_module(__name__)
    except ImportError as error:
        if error.name != __name__:
            raise
        sys.modules[__name__] = this


if os.environ.get("JOULEMAP_RUN") and sys.version_info >= (3, 10):
    sys.meta_path.insert(0, _Finder())
_load_next()
