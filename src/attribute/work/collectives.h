/* Which collective a kernel is of: what has one row, and whose calls ranks are compared by.
 *
 * A span of kind "collective" around the launch (python/joulemap/_collectives.py, inject/nvtx.c) says which
 * operation it is, in which group, and how many bytes; without one the kernel's name is all that is known. */
#ifndef JM_ATTRIBUTE_WORK_COLLECTIVES_H
#define JM_ATTRIBUTE_WORK_COLLECTIVES_H

#include "attribute/input/span_index.h"
#include "attribute/work/classes.h"
#include "base/map.h"
#include "base/strbuf.h"

#define JM__NO_COLLECTIVE UINT32_MAX

/* Operations times groups; what is beyond is told as any other kernel. */
enum { JM_COLLECTIVES_MAX = 4096 };

/* Whose k-th calls belong together: one communicator's, or those of one kernel's name. */
typedef struct jm__channel_key {
    int64_t group;    /* name of the communicator or group, 0: not known */
    int64_t pair;     /* 1: of sends and receives, which two ranks make */
    uintptr_t kernel; /* where the group is not known: the name, a text that is there once */
} jm__channel_key;

typedef struct jm__collective {
    const char *name;      /* of its row: "all-reduce, dp (ranks 0,1)", or that of its kernels; there once */
    const char *operation; /* "all-reduce"; NULL: its kernels' name tells none */
    const char *kernel;    /* name of its kernels; NULL: `operation` is told by spans */
    const char *group;     /* "dp (ranks 0,1)"; NULL: not known */
    uint32_t same_as;      /* the first one of this operation and group: itself, unless two communicators have
                              the same ranks */
    size_t channel;
} jm__collective;

/* What a call is, as far as the span around it knows. */
typedef struct jm__collective_told {
    uint32_t collective;
    size_t span;  /* the collective's, by index; JM__NO_SPAN: none */
    double bytes; /* NAN: not told */
} jm__collective_told;

typedef struct jm__collectives {
    const jm__span_index *spans;
    const jm__classes *classes;
    JM_VEC(jm__collective) items;
    JM_VEC(jm__channel_key) channels;
    jm__map numbers, channel_numbers;
    jm__text_store texts;
} jm__collectives;

void jm__collectives_init(jm__collectives *collectives, const jm__span_index *spans,
                          const jm__classes *classes);
void jm__collectives_free(jm__collectives *collectives);

/* Of a kernel of this class, launched in `span` (by index; JM__NO_SPAN: in none); JM__NO_COLLECTIVE: there
 * are too many. False if memory is out. */
bool jm__collective_of(jm__collectives *collectives, size_t span, uint32_t class_index,
                       jm__collective_told *told);

/* A communicator's collectives get a name that is the same in every run: the ranks that were seen to call
 * them. A text that is there once; NULL if memory is out. */
bool jm__collectives_name_group(jm__collectives *collectives, size_t channel, const char *group);

/* After that: which of them are one. */
void jm__collectives_unite(jm__collectives *collectives);

/* The operation that a kernel's name tells: "all-reduce"; NULL: none. */
const char *jm__collective_operation(const char *kernel);

#endif
