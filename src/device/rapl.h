/* Energy counters of CPU packages and their DRAM (Intel and AMD): one shape for both ways to them. */
#ifndef JM_DEVICE_RAPL_H
#define JM_DEVICE_RAPL_H

#include "device/device.h"

#define JM_RAPL_DOMAINS_MAX 32

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

/* Both find what the kernel offers below `root` ("" for the real one), open what may be read, and
 * note in the findings how that went. They return how many domains they put into `domains`. */
size_t jm__rapl_powercap_find(const char *root, jm__rapl_domain *domains, size_t capacity,
                              jm__findings *findings);
size_t jm__rapl_perf_find(const char *root, jm__rapl_domain *domains, size_t capacity,
                          jm__findings *findings);

/* Joules since the first read plus an unknown start; never falls when the raw counter wraps. */
jm_status jm__rapl_domain_read(jm__rapl_domain *domain, double *energy_j, jm_error *err);

/* One line of a small file of sysfs, without its end of line; false if it cannot be read. */
bool jm__rapl_line_read(const char *path, char *line, size_t size);

#endif
