/* A board's hardware counters through CUPTI's PM sampling. One thread. */
#ifndef JM_RECORD_COUNTERS_PROCESS_PM_H
#define JM_RECORD_COUNTERS_PROCESS_PM_H

#include "base/clock.h"
#include "record/counters/chip.h"
#include "record/cupti/pm_abi.h"
#include "record/cupti/search.h"

#include <stdbool.h>
#include <stddef.h>

/* Why counters cannot be sampled, in words: half a sentence, and the cure. */
typedef struct jm__pm_error {
    char text[200]; /* "" while nothing is wrong */
    char cure[160]; /* "" if there is none */
    bool settled;   /* another libcupti would say the same */
} jm__pm_error;

/* False, so that it can be returned. */
bool jm__pm_fail(jm__pm_error *fault, const char *cure, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The libcuptis that can sample hardware counters, newest first. */
typedef struct jm__pm_library {
    const char *path;
    uint32_t version;
    int (*cuptiGetResultString)(int result, const char **text);
#define X(symbol, type, last) int (*symbol)(type *);
    JM_PM_MAP(X)
    JM_PM_OPTIONAL_MAP(X) /* NULL if it is not there */
#undef X
} jm__pm_library;

typedef struct jm__pm_libraries {
    jm__pm_library items[JM_CUPTI_CANDIDATES_MAX];
    size_t count;
} jm__pm_libraries;

/* Those of these paths that will do; more than JM_CUPTI_CANDIDATES_MAX are left out. Loaded for ever. False
 * with a fault if none will. */
bool jm__pm_libraries_load(jm__pm_libraries *all, char *const *paths, size_t count, jm__pm_error *fault);

/* Start CUDA (JOULEMAP_CUDA, else libcuda.so.1), without a context, and find the board of this UUID
 * ("GPU-0123..."). */
bool jm__pm_find_device(size_t *device, const char *uuid, jm__pm_error *fault);

/* Samples that one image holds. Whatever evaluating one of them costs may go with the size of its image: 256
 * are a quarter of a second. */
#define JM_PM_IMAGE_SAMPLES 256

typedef struct jm__pm {
    const jm__pm_library *library;
    size_t device;
    jm__chip chip;         /* what it is called, and which of its counters are sampled */
    const char **names;    /* of these */
    uint8_t *availability; /* of the counters of this board */
    jm__pm_host *host;
    uint8_t *config;
    size_t config_size;
    jm__pm_object *object; /* NULL while it is not enabled */
    size_t image_size;
} jm__pm;

/* What the hardware's buffer held at one moment. */
typedef struct jm__pm_image {
    uint8_t *data;     /* of jm__pm_image_make */
    size_t samples;    /* in it */
    jm__anchor anchor; /* of the moment */
    bool full;         /* there is more where that came from */
    bool overflow;     /* the hardware's buffer was full before: samples are missing */
} jm__pm_image;

/* Choose the counters; the board does nothing yet, and is free for other tools. */
bool jm__pm_open(jm__pm *pm, const jm__pm_library *library, size_t device, jm__pm_error *fault);

/* Take the board's counters, from when on no other tool gets them, and start; the board stays taken after a
 * stop, and after a start that failed. */
bool jm__pm_start(jm__pm *pm, jm__pm_error *fault);
bool jm__pm_stop(jm__pm *pm, jm__pm_error *fault);

/* Give them back. */
void jm__pm_disable(jm__pm *pm);

/* Memory for an image of an enabled board; NULL: none. */
uint8_t *jm__pm_image_make(const jm__pm *pm);

/* Empty the hardware's buffer into an image. */
bool jm__pm_decode(jm__pm *pm, jm__pm_image *image, jm__pm_error *fault);

/* One sample of it, in CLOCK_MONOTONIC. False if its times make no sense, or CUPTI has no values. */
bool jm__pm_sample(const jm__pm *pm, const jm__pm_image *image, size_t index, jm__counter_sample *sample);

#endif
