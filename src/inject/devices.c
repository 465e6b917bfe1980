/* CUDA ordinals and the boards behind them. */
#include "inject/devices.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define ORDINALS 256

static struct {
    bool seen, told;
    char from_cupti[JM_DEVICE_TEXT]; /* "" if it said nothing */
} devices[ORDINALS];

typedef int get_uuid(unsigned char *uuid, int device);
static get_uuid *uuid_of_board, *uuid_of_instance; /* NULL: this driver has none */

static void write_text(char text[JM_DEVICE_TEXT], const unsigned char uuid[16], bool mig)
{
    size_t length = (size_t)snprintf(text, JM_DEVICE_TEXT, "%s", mig ? "MIG-" : "GPU-");
    for (int i = 0; i < 16; i++)
        length += (size_t)snprintf(text + length, JM_DEVICE_TEXT - length, "%s%02x",
                                   i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

void jm__devices_find_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver == NULL) return;
    *(void **)&uuid_of_board = dlsym(driver, "cuDeviceGetUuid");
    *(void **)&uuid_of_instance = dlsym(driver, "cuDeviceGetUuid_v2");
}

/* cuDeviceGetUuid gives the board; its second version the MIG instance, where there is one. */
bool jm__devices_ask_driver(uint8_t ordinal, char text[JM_DEVICE_TEXT])
{
    unsigned char board_uuid[16], uuid[16];
    if (uuid_of_board == NULL || uuid_of_board(board_uuid, ordinal) != 0) return false;
    memcpy(uuid, board_uuid, sizeof uuid);
    if (uuid_of_instance != NULL && uuid_of_instance(uuid, ordinal) != 0)
        memcpy(uuid, board_uuid, sizeof uuid);
    write_text(text, uuid, memcmp(uuid, board_uuid, sizeof uuid) != 0);
    return true;
}

void jm__devices_reset(void)
{
    for (int i = 0; i < ORDINALS; i++)
        devices[i].seen = devices[i].told = false;
}

bool jm__devices_saw(uint8_t ordinal)
{
    if (devices[ordinal].seen) return false;
    devices[ordinal].seen = true;
    return true;
}

void jm__devices_heard(uint32_t ordinal, const unsigned char uuid[16], bool mig)
{
    if (ordinal < ORDINALS) write_text(devices[ordinal].from_cupti, uuid, mig);
}

bool jm__devices_find_untold(unsigned *next, uint8_t *ordinal)
{
    for (; *next < ORDINALS; ++*next) {
        if (!devices[*next].seen || devices[*next].told) continue;
        *ordinal = (uint8_t)*next;
        ++*next;
        return true;
    }
    return false;
}

bool jm__devices_recall(uint8_t ordinal, char text[JM_DEVICE_TEXT])
{
    memcpy(text, devices[ordinal].from_cupti, JM_DEVICE_TEXT);
    return text[0] != '\0';
}

void jm__devices_set_told(uint8_t ordinal)
{
    devices[ordinal].told = true;
}
