"""The simulated board under other people's tools: nvidia-ml-py's own calls, unchanged, and what Zeus calls.

Each test runs in a fresh process, as the loader finds the library by LD_LIBRARY_PATH there, like NVIDIA's.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pynvml
import pytest
from on_board import Run, on_board

__all__ = ["on_board"]  # a fixture


def identity() -> list[dict[str, Any]]:
    pynvml.nvmlInit()
    boards = []
    for index in range(pynvml.nvmlDeviceGetCount()):
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        uuid = pynvml.nvmlDeviceGetUUID(handle)
        pci = pynvml.nvmlDeviceGetPciInfo(handle)
        assert pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetHandleByUUID(uuid)) == index
        assert pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetHandleByPciBusId(pci.busId)) == index
        assert pynvml.nvmlDeviceGetMinorNumber(handle) == index
        boards.append(
            {
                "name": pynvml.nvmlDeviceGetName(handle),
                "uuid": uuid,
                "pci": pci.busId,
                "serial": pynvml.nvmlDeviceGetSerial(handle),
                "capability": pynvml.nvmlDeviceGetCudaComputeCapability(handle),
                "architecture": pynvml.nvmlDeviceGetArchitecture(handle),
                "memory": pynvml.nvmlDeviceGetMemoryInfo(handle).total,
                "memory_v2": pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2).total,
                "limits": pynvml.nvmlDeviceGetPowerManagementLimitConstraints(handle),
            }
        )
    pynvml.nvmlShutdown()
    return boards


def test_boards_are_those_of_the_profiles_and_each_its_own(on_board: Run) -> None:
    boards = on_board(identity, JOULEMAP_SIM="h200,h100,a100,rtx3090,v100")
    assert [board["name"] for board in boards] == [
        "NVIDIA H200",
        "NVIDIA H100 80GB HBM3",
        "NVIDIA A100-SXM4-80GB",
        "NVIDIA GeForce RTX 3090",
        "Tesla V100-SXM2-16GB",
    ]
    assert boards[0]["limits"] == [200000, 700000]
    assert boards[3]["capability"] == (8, 6)
    assert boards[4]["architecture"] == pynvml.NVML_DEVICE_ARCH_VOLTA
    for key in ("uuid", "pci", "serial"):
        assert len({board[key] for board in boards}) == 5
    assert all(board["memory"] == board["memory_v2"] for board in boards)
    assert all(re.fullmatch(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", board["uuid"]) for board in boards)


def steady() -> dict[str, Any]:
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    time.sleep(1.4)
    kind, samples = pynvml.nvmlDeviceGetSamples(handle, pynvml.NVML_TOTAL_POWER_SAMPLES, 0)
    newest = samples[-1].timeStamp
    time.sleep(0.1)
    _, later = pynvml.nvmlDeviceGetSamples(handle, pynvml.NVML_TOTAL_POWER_SAMPLES, newest)
    fields = pynvml.nvmlDeviceGetFieldValues(
        handle,
        [
            pynvml.NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION,
            pynvml.NVML_FI_DEV_POWER_INSTANT,
            (pynvml.NVML_FI_DEV_POWER_AVERAGE, pynvml.NVML_POWER_SCOPE_MEMORY),
            pynvml.NVML_FI_DEV_POWER_CURRENT_LIMIT,
        ],
    )
    rates = pynvml.nvmlDeviceGetUtilizationRates(handle)
    found = {
        "kind": kind,
        "samples": [sample.sampleValue.uiVal / 1e3 for sample in samples],
        "new": [sample.timeStamp - newest for sample in later],
        "usage": pynvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
        "energy": pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) - fields[0].value.ullVal,
        "instant": fields[1].value.uiVal / 1e3,
        "memory": fields[2].value.uiVal / 1e3,
        "limit": fields[3].value.uiVal,
        "rates": (rates.gpu, rates.memory),
        "temperature": pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
        "clock": pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
        "reasons": pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle),
        "state": pynvml.nvmlDeviceGetPerformanceState(handle),
        "processes": pynvml.nvmlDeviceGetComputeRunningProcesses(handle),
        "mig": pynvml.nvmlDeviceGetMigMode(handle),
        "gpm": pynvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice,
        "versions": (
            pynvml.nvmlSystemGetDriverVersion(),
            pynvml.nvmlSystemGetNVMLVersion(),
            pynvml.nvmlSystemGetCudaDriverVersion_v2(),
        ),
    }
    pynvml.nvmlShutdown()
    return found


def test_sensors_tell_the_scripts_power_through_pynvml(on_board: Run) -> None:
    found = on_board(steady, script="0,60,450,steady\n")
    assert found["kind"] == pynvml.NVML_VALUE_TYPE_UNSIGNED_INT
    assert len(found["samples"]) == 119
    assert abs(sum(found["samples"][-40:]) / 40 - 450) < 3 * 4 / 40**0.5  # 4 W of noise
    assert 3 <= len(found["new"]) <= 8 and min(found["new"]) > 0  # 100 ms of a 20 ms grid
    assert abs(found["usage"] - 450) < 1.5
    assert abs(found["instant"] - 450) < 10
    assert abs(found["memory"] - (44 + 0.12 * (450 - 123))) < 1.5
    assert 0 <= found["energy"] <= 450 * 500  # within half a second of each other, in mJ
    assert found["limit"] == 700000
    assert found["rates"] == (100, 40)
    assert 30 < found["temperature"] < 40
    assert (found["clock"], found["reasons"], found["state"]) == (1980, 0, 0)
    assert (found["processes"], found["mig"], found["gpm"]) == ([], [0, 0], 0)
    assert found["versions"] == ("580.159.03", "13.580.159.03", 13000)


def failures() -> list[int]:
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    codes = []
    calls: tuple[Callable[[], object], ...] = (
        lambda: pynvml.nvmlDeviceGetPowerUsage(handle),
        lambda: pynvml.nvmlDeviceGetSamples(handle, 0, 0),
        lambda: pynvml.nvmlDeviceGetC2cModeInfoV(handle),
        lambda: pynvml.nvmlDeviceGetHandleByIndex(7),
        lambda: pynvml.nvmlDeviceSetPowerManagementLimit(handle, 1),
    )
    for call in calls:
        with pytest.raises(pynvml.NVMLError) as caught:
            call()
        codes.append(caught.value.value)
        assert str(caught.value) != "Unknown Error"
    return codes


def test_faults_are_pynvmls_own_exceptions(on_board: Run) -> None:
    faults = "nvmlDeviceGetPowerUsage=GPU_IS_LOST;missing:nvmlDeviceGetSamples"
    assert on_board(failures, JOULEMAP_SIM_FAULTS=faults) == [
        pynvml.NVML_ERROR_GPU_IS_LOST,
        pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
        pynvml.NVML_ERROR_NOT_SUPPORTED,
        pynvml.NVML_ERROR_INVALID_ARGUMENT,
        pynvml.NVML_ERROR_INVALID_ARGUMENT,
    ]


def zeus_calls() -> dict[str, Any]:
    """Call what zeus.device.gpu.nvidia (0.16) calls, in its order, with its arguments."""
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    try:
        pynvml.nvmlDeviceGetC2cModeInfoV(handle)
        grace_hopper = True
    except pynvml.NVMLError as error:
        grace_hopper = error.value != pynvml.NVML_ERROR_NOT_SUPPORTED
    before = pynvml.nvmlDeviceGetPowerManagementLimit(handle)
    pynvml.nvmlDeviceSetPowerManagementLimit(handle, 300000)
    capped = pynvml.nvmlDeviceGetPowerManagementLimit(handle)
    pynvml.nvmlDeviceSetPowerManagementLimit(handle, pynvml.nvmlDeviceGetPowerManagementDefaultLimit(handle))
    pynvml.nvmlDeviceSetPersistenceMode(handle, pynvml.NVML_FEATURE_ENABLED)
    memory_clocks = pynvml.nvmlDeviceGetSupportedMemoryClocks(handle)
    clocks = pynvml.nvmlDeviceGetSupportedGraphicsClocks(handle, memory_clocks[0])
    pynvml.nvmlDeviceSetMemoryLockedClocks(handle, memory_clocks[0], memory_clocks[0])
    pynvml.nvmlDeviceResetMemoryLockedClocks(handle)
    pynvml.nvmlDeviceSetGpuLockedClocks(handle, clocks[-1], clocks[-1])
    time.sleep(0.05)
    locked = pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)
    pynvml.nvmlDeviceResetGpuLockedClocks(handle)
    fields = [
        pynvml.nvmlDeviceGetFieldValues(handle, [(field, scope)])[0]
        for field, scope in (
            (pynvml.NVML_FI_DEV_POWER_AVERAGE, pynvml.NVML_POWER_SCOPE_GPU),
            (pynvml.NVML_FI_DEV_POWER_INSTANT, pynvml.NVML_POWER_SCOPE_GPU),
            (pynvml.NVML_FI_DEV_POWER_AVERAGE, pynvml.NVML_POWER_SCOPE_MEMORY),
        )
    ]
    return {
        "grace_hopper": grace_hopper,
        "limits": (before, capped, pynvml.nvmlDeviceGetPowerManagementLimit(handle)),
        "persistence": pynvml.nvmlDeviceGetPersistenceMode(handle),
        "clocks": (clocks[0], clocks[-1], locked),
        "fields": [field.nvmlReturn for field in fields],
        "watts": [field.value.uiVal / 1e3 for field in fields],
        "energy": pynvml.nvmlDeviceGetArchitecture(handle) >= pynvml.NVML_DEVICE_ARCH_VOLTA
        and pynvml.nvmlDeviceGetTotalEnergyConsumption(handle),
        "temperature": pynvml.nvmlDeviceGetTemperatureV(handle, pynvml.NVML_TEMPERATURE_GPU),
    }


def test_every_call_of_zeus_is_answered(on_board: Run) -> None:
    found = on_board(zeus_calls, script="0,60,450,steady\n")
    assert not found["grace_hopper"]
    assert found["limits"] == (700000, 300000, 700000)
    assert found["persistence"] == pynvml.NVML_FEATURE_ENABLED
    assert found["clocks"] == (1980, 345, 345)
    assert found["fields"] == [pynvml.NVML_SUCCESS] * 3
    assert all(watts > 40 for watts in found["watts"])
    assert found["energy"] > 0 and 30 <= found["temperature"] < 60
