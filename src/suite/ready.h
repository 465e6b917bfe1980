/* Making the suite ready: each kernel given its data, its calls timed; or left out, with a reason. */
#ifndef SUITE_READY_H
#define SUITE_READY_H

#include "suite/chance.h"
#include "suite/kernel.h"
#include "suite/stock.h"

enum { SUITE_LENGTHS = 4, SUITE_NAME = 96, SUITE_REASONS_MAX = 32, SUITE_REASON_NAMES = 3 };

#define SUITE_ENOUGH_S 0.45 /* of a kernel */

/* A kernel at one size on one kind of data, ready to play. */
typedef struct suite_entry {
    char name[SUITE_NAME]; /* FAMILY/WHAT-SHAPE-TYPE */
    suite_kind kind;
    bool heavy;                    /* draws more than others */
    bool best;                     /* a product that the square wave may be made of */
    double call_s;                 /* of a call inside a burst */
    uint32_t calls[SUITE_LENGTHS]; /* of its bursts, from short to long */
    suite_call call;
} suite_entry;

typedef struct suite_reason {
    char text[200], hint[160];
    char names[SUITE_REASON_NAMES][SUITE_NAME]; /* the first of them */
    size_t count;
} suite_reason;

/* What can be played, and why the rest cannot. */
typedef struct suite_ready {
    suite_entry *entries;
    size_t count;
    suite_reason reasons[SUITE_REASONS_MAX];
    size_t reason_count, left_out;
} suite_ready;

/* How sizes of an H100 fit this GPU: by its multiprocessors and its memory; 1 at most. */
double suite_share_of(const suite_driver *driver);

/* Draw the lengths of a kernel's bursts in seconds: log-uniform over 1 to 20 ms, one from each part of it. */
void suite_burst_lengths(suite_chance *chance, double lengths_s[SUITE_LENGTHS]);

/* All kernels: `chosen` has a place for each. Returns how many. */
size_t suite_choose_all(const suite_kernel **chosen);

/* Of those that a GPU of this capability can run as many as get enough time in so many seconds, of as many
 * families as there are: for a simulated board, to which all are alike. */
size_t suite_choose(double seconds, int capability, const suite_kernel **chosen);

/* Make them ready; `told` hears how far it is, 0 to 1, and stops it with false. Fails where the GPU does, and
 * where nothing can be played; `all_kinds` false: each with its first kind of data alone. */
jm_status suite_make_ready(suite_ready *ready, const suite_kernel *const *kernels, size_t count,
                           bool all_kinds, suite_stock *stock, suite_chance *chance,
                           bool (*told)(double share), jm_error *err);
void suite_ready_free(suite_ready *ready);

#endif
