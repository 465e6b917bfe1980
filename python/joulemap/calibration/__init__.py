"""The calibration suite: kernels of many families in bursts, from which a board's power model is learnt.

    python -m joulemap.calibration --seconds 60 -o suite.joulemap

Each burst is a span of kind `window` in the phase `suite`, named ``FAMILY/what-shape-dtype``; its type is the kind of
data. In the phase `idle` the GPU rests with a CUDA context, in `response` a heavy kernel is switched on and off.
"""

from joulemap.calibration.learning import learn_model

__all__ = ["learn_model"]
