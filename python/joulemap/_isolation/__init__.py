"""Layers of a model alone: each on what the model gives it, in bursts with gaps; energy a call from the board's total.

`joulemap.torch.isolate` is the way to it. Its parts: `given` (what layers are given in a pass), `kept` (the model
afterwards as before), `settings` (bursts, gaps, and the clock that they lead to), `regression` (energy of a call, with
its interval), `measure` (windows of bursts until the intervals are narrow), `layers` (all of it), `result`.
"""
