/* Who a board is. */
#include "identity.h"

#include "noise.h"

#include <stdio.h>
#include <string.h>

uint64_t sim_identity(const sim_profile *profile, int index, uint64_t part)
{
    return sim_key(sim_key(sim_text_key(profile->id, strlen(profile->id)), (uint64_t)index), part);
}

/* RFC 4122, version 4: it says so in half of byte 6 and a quarter of byte 8. */
void sim_uuid(const sim_profile *profile, int index, unsigned char uuid[SIM_UUID_BYTES])
{
    const uint64_t halves[] = {sim_identity(profile, index, 1), sim_identity(profile, index, 2)};
    for (int i = 0; i < SIM_UUID_BYTES; i++)
        uuid[i] = (unsigned char)(halves[i / 8] >> (56 - 8 * (i % 8)));
    uuid[6] = (unsigned char)(0x40 | (uuid[6] & 0x0f));
    uuid[8] = (unsigned char)(0x80 | (uuid[8] & 0x3f));
}

void sim_uuid_text(const sim_profile *profile, int index, char text[SIM_UUID_TEXT])
{
    unsigned char uuid[SIM_UUID_BYTES];
    sim_uuid(profile, index, uuid);
    int at = snprintf(text, SIM_UUID_TEXT, "GPU");
    for (int i = 0; i < SIM_UUID_BYTES; i++) {
        bool begins_group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        at += snprintf(text + at, (size_t)(SIM_UUID_TEXT - at), "%s%02x", begins_group ? "-" : "", uuid[i]);
    }
}
