"""Layers in isolation: each runs on its own inputs, in bursts with gaps; the board's total gives the energy of a call.

Programs call `joulemap.torch.isolate`. The parts: `layer_inputs` (inputs of layers in a pass), `model_state` (restores
the model), `settings` (bursts, gaps, and the resulting clock), `regression` (energy of a call, with its interval),
`measure` (windows of bursts until the intervals are narrow), `layers` (the whole), `result`.
"""
