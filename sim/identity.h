/* Who a board is: by make and place, not by seed. */
#ifndef SIM_IDENTITY_H
#define SIM_IDENTITY_H

#include "profile.h"

/* A number of its own for each `part`. */
uint64_t sim_identity(const sim_profile *profile, int index, uint64_t part);

#define SIM_UUID_BYTES 16
#define SIM_UUID_TEXT  48

void sim_uuid(const sim_profile *profile, int index, unsigned char uuid[SIM_UUID_BYTES]);

/* The same as NVML writes it: "GPU-01234567-89ab-...". */
void sim_uuid_text(const sim_profile *profile, int index, char text[SIM_UUID_TEXT]);

#endif
