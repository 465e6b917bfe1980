"""`profile_torch` and `profile_tf`."""

from joulemap.compat.powerdl.highlevel_tf import profile_tf
from joulemap.compat.powerdl.highlevel_torch import profile_torch
from joulemap.compat.powerdl.report import Report

__all__ = ["Report", "profile_tf", "profile_torch"]
