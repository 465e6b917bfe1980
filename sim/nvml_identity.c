/* NVML's calls that tell which board is which. */
#include "identity.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static uint64_t identity(const sim_board *board, uint64_t part)
{
    return sim_identity(board->profile, board->index, part);
}

static unsigned int bus(const sim_board *board)
{
    return 0x10u + 0x0du * (unsigned)board->index;
}

static void write_pci(const sim_board *board, nvmlPciInfo_t *pci)
{
    memset(pci, 0, sizeof *pci);
    pci->bus = bus(board);
    pci->pciDeviceId = board->profile->pci_device_id;
    pci->pciSubSystemId = board->profile->pci_subsystem_id;
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "0000:%02X:00.0", pci->bus);
    snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", pci->bus);
}

static nvmlReturn_t get_count(const char *call, unsigned int *count)
{
    sim_world *world;
    nvmlReturn_t result = sim_enter(call, &world);
    if (result != NVML_SUCCESS) return result;
    if (count != NULL) *count = (unsigned)sim_number(world, call, NULL, 0, (unsigned)world->board_count);
    sim_leave();
    return count != NULL ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetCount(unsigned int *count);
nvmlReturn_t nvmlDeviceGetCount(unsigned int *count)
{
    return get_count(__func__, count);
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count);
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    return get_count(__func__, count);
}

static nvmlReturn_t by_index(const char *call, unsigned int index, nvmlDevice_t *device)
{
    sim_world *world;
    sim_board *board;
    if (device == NULL || index >= SIM_BOARDS) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t result = sim_enter_device(call, sim_device((int)index), &world, &board);
    if (result != NVML_SUCCESS) return result;
    sim_leave();
    *device = sim_device((int)index);
    return NVML_SUCCESS;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
    return by_index(__func__, index, device);
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    return by_index(__func__, index, device);
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    sim_world *world;
    nvmlReturn_t result = sim_enter(__func__, &world);
    if (result != NVML_SUCCESS) return result;
    result = uuid == NULL || device == NULL ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_NOT_FOUND;
    for (int i = 0; result == NVML_ERROR_NOT_FOUND && i < world->board_count; i++) {
        char own[SIM_UUID_TEXT];
        sim_uuid_text(world->boards[i].profile, i, own);
        if (strcasecmp(own, uuid) != 0) continue;
        *device = sim_device(i);
        result = NVML_SUCCESS;
    }
    sim_leave();
    return result;
}

/* "domain:bus:slot" in hexadecimal; a function (".0") may follow. */
static bool read_pci(const char *text, unsigned long *domain, unsigned long *number, unsigned long *slot)
{
    char *end;
    *domain = strtoul(text, &end, 16);
    if (end == text || *end != ':') return false;
    text = end + 1;
    *number = strtoul(text, &end, 16);
    if (end == text || *end != ':') return false;
    text = end + 1;
    *slot = strtoul(text, &end, 16);
    return end != text && (*end == '.' || *end == '\0');
}

static nvmlReturn_t by_pci(const char *call, const char *text, nvmlDevice_t *device)
{
    sim_world *world;
    nvmlReturn_t result = sim_enter(call, &world);
    if (result != NVML_SUCCESS) return result;
    unsigned long domain, number, slot;
    result = NVML_ERROR_INVALID_ARGUMENT;
    if (text != NULL && device != NULL && read_pci(text, &domain, &number, &slot)) {
        result = NVML_ERROR_NOT_FOUND;
        for (int i = 0; i < world->board_count; i++) {
            if (domain != 0 || slot != 0 || number != bus(&world->boards[i])) continue;
            *device = sim_device(i);
            result = NVML_SUCCESS;
        }
    }
    sim_leave();
    return result;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *pci, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *pci, nvmlDevice_t *device)
{
    return by_pci(__func__, pci, device);
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pci, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pci, nvmlDevice_t *device)
{
    return by_pci(__func__, pci, device);
}

/* A device call whose answer is a text: `source` gives it, of the board `board`. */
#define TEXT_CALL(function, source)                                                                          \
    SIM_EXPORT nvmlReturn_t function(nvmlDevice_t device, char *text, unsigned int size);                    \
    nvmlReturn_t function(nvmlDevice_t device, char *text, unsigned int size)                                \
    {                                                                                                        \
        sim_world *world;                                                                                    \
        sim_board *board;                                                                                    \
        nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);                            \
        if (result != NVML_SUCCESS) return result;                                                           \
        char own[SIM_TEXT];                                                                                  \
        source;                                                                                              \
        sim_leave();                                                                                         \
        return sim_copy_text(text, size, own);                                                               \
    }

TEXT_CALL(nvmlDeviceGetName, memcpy(own, board->profile->name, sizeof own))
TEXT_CALL(nvmlDeviceGetUUID, sim_uuid_text(board->profile, board->index, own))
TEXT_CALL(nvmlDeviceGetSerial,
          snprintf(own, sizeof own, "165%010llu", (unsigned long long)(identity(board, 3) % 10000000000ull)))
TEXT_CALL(nvmlDeviceGetVbiosVersion,
          snprintf(own, sizeof own, "96.00.%02X.00.01", (unsigned)(identity(board, 4) & 0xffu)))
TEXT_CALL(nvmlDeviceGetBoardPartNumber,
          snprintf(own, sizeof own, "900-21010-%04u-000", (unsigned)(identity(board, 5) % 10000u)))

/* A device call whose answer is one number. */
#define NUMBER_CALL(function, type, source)                                                                  \
    SIM_EXPORT nvmlReturn_t function(nvmlDevice_t device, type *value);                                      \
    nvmlReturn_t function(nvmlDevice_t device, type *value)                                                  \
    {                                                                                                        \
        sim_world *world;                                                                                    \
        sim_board *board;                                                                                    \
        nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);                            \
        if (result != NVML_SUCCESS) return result;                                                           \
        if (value != NULL) *value = (type)(source);                                                          \
        sim_leave();                                                                                         \
        return value != NULL ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;                                   \
    }

NUMBER_CALL(nvmlDeviceGetIndex, unsigned int, board->index)
NUMBER_CALL(nvmlDeviceGetMinorNumber, unsigned int, board->index)
NUMBER_CALL(nvmlDeviceGetArchitecture, unsigned int, board->profile->architecture)
NUMBER_CALL(nvmlDeviceGetBrand, unsigned int, board->profile->mig_capable ? 14 : 5) /* NVIDIA, GeForce */
NUMBER_CALL(nvmlDeviceIsMigDeviceHandle, unsigned int, 0)
NUMBER_CALL(nvmlDeviceGetBoardId, unsigned int, bus(board) << 8)
NUMBER_CALL(nvmlDeviceGetMultiGpuBoard, unsigned int, 0)

/* Of a multiprocessor: 64 up to 8.0 (but 6.1), 128 after. */
static unsigned int cores_of(const sim_profile *profile)
{
    int capability = 10 * profile->cc_major + profile->cc_minor;
    return (unsigned)profile->multiprocessors * (capability > 80 || capability == 61 ? 128u : 64u);
}
NUMBER_CALL(nvmlDeviceGetNumGpuCores, unsigned int, cores_of(board->profile))

SIM_EXPORT nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor);
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    sim_leave();
    if (major == NULL || minor == NULL) return NVML_ERROR_INVALID_ARGUMENT;
    *major = board->profile->cc_major;
    *minor = board->profile->cc_minor;
    return NVML_SUCCESS;
}

static nvmlReturn_t get_pci(const char *call, nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(call, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    if (pci != NULL) write_pci(board, pci);
    sim_leave();
    return pci != NULL ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, void *pci);
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, void *pci)
{
    /* The old shape: short bus id, and four reserved words where the new one has half of the long id. */
    nvmlPciInfo_t now;
    if (pci == NULL) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t result = get_pci(__func__, device, &now);
    if (result != NVML_SUCCESS) return result;
    memset(now.busId, 0, sizeof now.busId);
    memcpy(pci, &now, 16 + 5 * sizeof(unsigned int) + 4 * sizeof(unsigned int));
    return NVML_SUCCESS;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci);
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    return get_pci(__func__, device, pci);
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t *pci);
nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t *pci)
{
    nvmlPciInfo_t now;
    if (pci == NULL) return NVML_ERROR_INVALID_ARGUMENT;
    if (pci->version != NVML_STRUCT_VERSION(nvmlPciInfoExt_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlReturn_t result = get_pci(__func__, device, &now);
    if (result != NVML_SUCCESS) return result;
    pci->domain = now.domain;
    pci->bus = now.bus;
    pci->device = now.device;
    pci->pciDeviceId = now.pciDeviceId;
    pci->pciSubSystemId = now.pciSubSystemId;
    pci->baseClass = 3; /* display controller ... */
    pci->subClass = 2;  /* ... 3D */
    memcpy(pci->busId, now.busId, sizeof pci->busId);
    return NVML_SUCCESS;
}
