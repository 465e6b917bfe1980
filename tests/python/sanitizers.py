"""Whether the libraries under test are the sanitized ones (`make proof PART=sanitized` preloads their run time)."""

import os

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
