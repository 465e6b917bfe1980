"""Power caps: show them, set them temporarily, and search the best one.

>>> import joulemap.caps
>>> with joulemap.caps.lease(gpu=0) as cap:  # doctest: +SKIP
...     cap.set(400)
...     train()
>>> print(joulemap.caps.search(model, loader))  # doctest: +SKIP
"""

from joulemap.caps.boards import restore, show
from joulemap.caps.leases import lease
from joulemap.caps.searching import search

__all__ = ["lease", "restore", "search", "show"]
