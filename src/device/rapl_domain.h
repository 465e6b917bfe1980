/* One energy counter of a CPU package or its DRAM (Intel and AMD): one shape for both ways to it. */
#ifndef JM_DEVICE_RAPL_DOMAIN_H
#define JM_DEVICE_RAPL_DOMAIN_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct jm__rapl_domain {
    char name[32];          /* "package-0", "dram-0" */
    char path[256];         /* what is read */
    char missing[160];      /* why it cannot be, "" if it can */
    int fd;                 /* -1 if it cannot be read */
    bool binary;            /* read(2) gives a uint64 (perf), else decimal text (powercap) */
    double joule_per_count; /* unit of the raw counter */
    uint64_t wrap_count;    /* the raw counter starts again at 0 after this; 0: never */
    uint64_t last_count;
    uint64_t wrapped_count; /* what passed in earlier rounds */
    bool read_before;
} jm__rapl_domain;

/* Joules since the first read plus an unknown start; never falls when the raw counter wraps. */
jm_status jm__rapl_domain_read(jm__rapl_domain *domain, double *energy_j, jm_error *err);

/* One line of a small file of sysfs, without its end of line; false if it cannot be read. */
bool jm__rapl_line_read(const char *path, char *line, size_t size);

#endif
