"""Zeus: its monitor, `from joulemap.compat.zeus.monitor import ZeusMonitor`."""
