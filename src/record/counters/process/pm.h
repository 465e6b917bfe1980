/* A board's hardware counters through CUPTI's PM sampling. One thread. */
#ifndef JM_RECORD_COUNTERS_PROCESS_PM_H
#define JM_RECORD_COUNTERS_PROCESS_PM_H

#include "base/clock.h"
#include "record/counters/chip.h"
#include "record/cupti/pm_abi.h"
#include "record/cupti/search.h"

#include <stdbool.h>
#include <stddef.h>

/* Why counters cannot be sampled: half a sentence, and the cure. */
typedef struct jm__pm_error {
    char text[200]; /* "": no error */
    char cure[160]; /* "" if there is none */
    bool settled;   /* another libcupti would not help */
} jm__pm_error;

/* Fills the error and returns false. */
bool jm__pm_fail(jm__pm_error *error, const char *cure, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The libcuptis that can sample hardware counters, newest first. */
typedef struct jm__pm_library {
    uint32_t version;
    int (*cuptiGetResultString)(int result, const char **text);
#define X(symbol, type, last) int (*symbol)(type *);
    JM_PM_MAP(X)
    JM_PM_OPTIONAL_MAP(X) /* NULL if missing */
#undef X
} jm__pm_library;

typedef struct jm__pm_libraries {
    jm__pm_library items[JM_CUPTI_CANDIDATES_MAX];
    size_t count;
} jm__pm_libraries;

/* Loads the usable ones of these paths, at most JM_CUPTI_CANDIDATES_MAX; they stay loaded. False with an
 * error if there is none. */
bool jm__pm_libraries_load(jm__pm_libraries *all, char *const *paths, size_t count, jm__pm_error *error);

/* Starts CUDA (JOULEMAP_CUDA, else libcuda.so.1) without a context, and finds the board with this UUID
 * ("GPU-0123..."). */
bool jm__pm_find_device(size_t *device, const char *uuid, jm__pm_error *error);

/* Samples in one image, a quarter of a second. The cost of evaluating one may grow with the size of its
 * image. */
#define JM_PM_IMAGE_SAMPLES 256

typedef struct jm__pm {
    const jm__pm_library *library;
    size_t device;
    jm__chip chip;         /* its name and the sampled counters */
    const char **names;    /* of the sampled counters */
    uint8_t *availability; /* CUPTI's image of the available counters */
    jm__pm_host *host;
    uint8_t *config;
    size_t config_size;
    jm__pm_object *object; /* NULL while disabled */
    size_t image_size;
} jm__pm;

/* The content of the hardware buffer at one moment. */
typedef struct jm__pm_image {
    uint8_t *data;     /* from jm__pm_image_make */
    size_t samples;    /* number of samples */
    jm__anchor anchor; /* of that moment */
    bool full;         /* the buffer has more */
    bool overflow;     /* the buffer was full before: samples are missing */
} jm__pm_image;

/* Chooses the counters. The board is not touched and stays free for other tools. */
bool jm__pm_open(jm__pm *pm, const jm__pm_library *library, size_t device, jm__pm_error *error);

/* Takes the board's counters, which excludes other tools, and starts. They stay taken after a stop and after
 * a failed start. */
bool jm__pm_start(jm__pm *pm, jm__pm_error *error);
bool jm__pm_stop(jm__pm *pm, jm__pm_error *error);

/* Releases the counters. */
void jm__pm_disable(jm__pm *pm);

/* Memory for an image of an enabled board; NULL: memory is out. */
uint8_t *jm__pm_image_make(const jm__pm *pm);

/* Moves the content of the hardware buffer into an image. */
bool jm__pm_decode(jm__pm *pm, jm__pm_image *image, jm__pm_error *error);

/* Evaluates one sample, in CLOCK_MONOTONIC. False if its times are impossible or CUPTI has no values. */
bool jm__pm_sample(const jm__pm *pm, const jm__pm_image *image, size_t index, jm__counter_sample *sample);

#endif
