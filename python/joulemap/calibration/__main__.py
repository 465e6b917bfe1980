"""`python -m joulemap.calibration --seconds 60 -o FILE`."""

import signal
import sys

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # during the import of PyTorch there is nothing to close

    from joulemap.calibration.program import main

    sys.exit(main())
