"""`python -m joulemap.calibration --seconds 60 -o FILE`."""

import sys

from joulemap.calibration.program import main

if __name__ == "__main__":
    sys.exit(main())
