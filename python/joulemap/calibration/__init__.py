"""The calibration suite: kernels of many families in bursts, out of which a board's power is learnt.

    python -m joulemap.calibration --seconds 60 -o suite.joulemap

Each burst is a span of kind `window`, named ``FAMILY/what-shape-dtype``, its type the kind of data; all lie in a
phase `suite`. Phases `idle` and `response` hold rest with a context, and a heavy kernel switched on and off.
"""

from joulemap.calibration.learning import learn_model

__all__ = ["learn_model"]
