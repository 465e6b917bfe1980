"""Whether the libraries under test are the sanitized ones (`make check SAN=...` preloads their run time)."""

import os

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
