# what stands in the way, and the cure; JSON says the same
export JOULEMAP_NVML=/nowhere/libnvidia-ml.so.1
joulemap doctor | grep -A 1 '^missing  NVML'
joulemap doctor --json >doctor.json
python3 - <<'END'
import json

document = json.load(open("doctor.json"))
assert document["gpu_energy"] is False and document["simulated"] is False
nvml = [finding for finding in document["findings"] if finding["subject"] == "NVML"]
assert len(nvml) == 1 and nvml[0]["works"] is False and nvml[0]["cure"]
assert all(finding["detail"] for finding in document["findings"])
END
