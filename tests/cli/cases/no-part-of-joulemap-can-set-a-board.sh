# a name that is not in the file cannot be looked up: what joulemap knows of NVML are questions
python3 - <<'END'
import os
import re

asked = {"nvmlInit_v2", "nvmlShutdown", "nvmlErrorString"}
for name in ("joulemap", "joulemap-calibrate", "joulemap-estimate", "libjoulemap.so", "libjoulemap_inject.so"):
    path = os.path.join(os.environ["BUILD_DIR"], name)
    if not os.path.exists(path) and name == "libjoulemap_inject.so":
        continue  # built only where CUPTI's headers are
    with open(path, "rb") as file:
        content = file.read()
    calls = {text.decode() for text in re.findall(rb"nvml[A-Z]\w+", content)}
    if name == "libjoulemap.so":
        assert {"nvmlDeviceGetSamples", "nvmlDeviceGetEnforcedPowerLimit"} <= calls, calls
    other = {call for call in calls - asked if not re.match(r"nvml(System|Device)Get", call)}
    assert not other, (name, other)
    assert b"power_limit_uw" not in content, name  # RAPL's, in sysfs
END
