/* CUDA_VISIBLE_DEVICES: indices, UUIDs, unique beginnings of UUIDs, MIG instances. */
#include "record/device/cuda_visible.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NO_BOARD (-1)

/* Board whose UUID begins with these characters, if there is exactly one. */
static int by_uuid(const jm__cuda_board *boards, size_t count, const char *text, size_t length)
{
    int found = NO_BOARD;
    for (size_t i = 0; i < count; i++) {
        if (strncasecmp(boards[i].uuid, text, length) != 0) continue;
        if (found != NO_BOARD) return NO_BOARD;
        found = (int)i;
    }
    return found;
}

/* "MIG-<uuid>" of an instance, or the older "MIG-GPU-<uuid>/<gi>/<ci>", which names its board. */
static int by_mig(const jm__cuda_board *boards, size_t count, const char *text, size_t length)
{
    if (length > 8 && strncasecmp(text, "MIG-GPU-", 8) == 0) {
        const char *slash = memchr(text, '/', length);
        if (slash == NULL) return NO_BOARD;
        return by_uuid(boards, count, text + 4, (size_t)(slash - text) - 4);
    }
    int found = NO_BOARD;
    size_t matches = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t mig = 0; mig < boards[i].mig_count; mig++) {
            if (strncasecmp(boards[i].mig[mig], text, length) != 0) continue;
            found = (int)i;
            matches++;
        }
    }
    return matches == 1 ? found : NO_BOARD;
}

static int entry_resolve(const jm__cuda_board *boards, size_t count, const char *text, size_t length)
{
    if (length > 4 && strncasecmp(text, "GPU-", 4) == 0) return by_uuid(boards, count, text, length);
    if (length > 4 && strncasecmp(text, "MIG-", 4) == 0) return by_mig(boards, count, text, length);
    int number = 0;
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)text[i]) || number > 1000) return NO_BOARD;
        number = number * 10 + (text[i] - '0');
    }
    return length > 0 && (size_t)number < count ? number : NO_BOARD;
}

void jm__cuda_visible_resolve(const char *visible, const jm__cuda_board *boards, size_t count, int *indices)
{
    for (size_t i = 0; i < count; i++)
        indices[i] = visible == NULL ? (int)i : NO_BOARD;
    if (visible == NULL) return;
    int next = 0;
    for (const char *entry = visible; entry != NULL;) {
        const char *comma = strchr(entry, ',');
        size_t length = comma == NULL ? strlen(entry) : (size_t)(comma - entry);
        while (length > 0 && isspace((unsigned char)entry[0])) {
            entry++;
            length--;
        }
        while (length > 0 && isspace((unsigned char)entry[length - 1]))
            length--;
        int board = entry_resolve(boards, count, entry, length);
        if (board == NO_BOARD) return;
        if (indices[board] == NO_BOARD)
            indices[board] = next; /* a second instance of one board: the first counts */
        next++;
        entry = comma == NULL ? NULL : comma + 1;
    }
}
