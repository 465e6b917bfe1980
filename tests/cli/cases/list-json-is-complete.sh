# every key of docs/sensors.md is there, what is missing is null with its reason
joulemap list --sim a100 --json >boards.json || exit
python3 - <<'END'
import json

boards = [board for board in json.load(open("boards.json"))["boards"] if board["backend"] == "nvml"]
assert len(boards) == 1
board = boards[0]
assert board["name"] == "NVIDIA A100-SXM4-80GB" and board["simulated"] is True and board["mig"] is False
assert board["uuid"].startswith("GPU-") and board["pci"].startswith("00000000:")
assert board["power_limit_min_w"] <= board["power_limit_w"] <= board["power_limit_max_w"]
assert board["clock_limit_mhz"] == 1410, board["clock_limit_mhz"]
sensors = {sensor["name"]: sensor for sensor in board["sensors"]}
assert sensors["power_ring"]["missing"] and sensors["power_ring"]["read_cost_s"] is None
instant = sensors["power_instant"]
assert instant["missing"] is None and instant["response"] == "box" and instant["unit"] == "W"
assert instant["period_s"] == 0.101 and instant["window_s"] == 0.025 and instant["tau_s"] is None
assert instant["read_cost_s"] > 0 and instant["gain_u"] == 0.029
END
