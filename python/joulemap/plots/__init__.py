"""Figures of a run: where its joules went, over time, by layer, and of two runs beside each other."""

from joulemap.plots.data import PhaseEnergy, PlotData

__all__ = ["PhaseEnergy", "PlotData"]
