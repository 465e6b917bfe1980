/* A run that was recorded in parts: what is told of all of them together. */
#ifndef CLI_PARTS_H
#define CLI_PARTS_H

#include <joulemap/joulemap.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_parts {
    size_t count; /* of those that are there, from the newest back */
    double bytes; /* of their files */
    double energy_j, low_j, high_j, seconds;
    bool simulated;
    char oldest[PATH_MAX], newest[PATH_MAX]; /* paths, as people write them */
} cli_parts;

/* From the newest part, by its path, back to the first or to one that is gone; between two times. `as`: the
 * name that was asked for, whose folder stands before those of the parts. */
jm_status cli_parts_sum(cli_parts *out, const char *newest, const char *as, int64_t from_ns, int64_t to_ns,
                        jm_error *err);

#endif
