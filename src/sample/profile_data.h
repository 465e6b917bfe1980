/* The board profiles as they stand in src/sample/profiles, embedded at build time. */
#ifndef JM_SAMPLE_PROFILE_DATA_H
#define JM_SAMPLE_PROFILE_DATA_H

#include <stddef.h>

typedef struct jm__profile_data {
    const char *name; /* file name without ".json"; NULL ends the table */
    const char *text; /* JSON, not terminated */
    size_t length;
} jm__profile_data;

extern const jm__profile_data jm__profile_table[];

#endif
