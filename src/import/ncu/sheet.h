/* How joulemap's counters are named in ncu's files, per chip (src/import/ncu/words/NAME.json, one file per
 * chip); looking up the values of one kernel by name; and converting them to the units of a board model's
 * features. */
#ifndef JM_IMPORT_NCU_SHEET_H
#define JM_IMPORT_NCU_SHEET_H

#include "base/embedded.h"
#include "base/text_ids.h"
#include "import/ncu/ncu.h"

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>

#define JM_WORDS_MAX  64
#define JM_PLACES_MAX 8
#define JM_NAMES_MAX  4

/* One place where a file may have a value. */
typedef struct jm__ncu_place {
    char section[48]; /* "": the name suffices, on any page */
    char name[128];
    char unit[24];
} jm__ncu_place;

typedef struct jm__ncu_places {
    jm__ncu_place items[JM_PLACES_MAX];
    size_t count;
} jm__ncu_places;

/* The unit whose utilisation bounds that of a counter. */
typedef enum jm__ncu_unit_part {
    JM_PART_NONE,
    JM_PART_SM,
    JM_PART_L1,
    JM_PART_L2,
    JM_PART_DRAM,
    JM_PART_COUNT,
} jm__ncu_unit_part;

typedef struct jm__ncu_word {
    char feature[96]; /* without the prefix of the sampler (jm__ncu_feature_name) */
    char counters[JM_NAMES_MAX]
                 [64]; /* ncu's names without ".sum" and the like; the first one in the file is used */
    size_t counter_count;
    char pair[2][64]; /* or the difference of these two; "": none */
    char percents[JM_NAMES_MAX][80];
    size_t percent_count;
    jm__ncu_places labels;                          /* or sums of events under other names */
    jm__ncu_places times;                           /* factors for the labels; none: 1 */
    jm__ncu_places shares;                          /* percent of the peak over all cycles */
    jm__ncu_places shares_of_both, shares_of_other; /* or the share of a pair of units with twice the peak,
                                                       minus the other unit's share */
    double peak;  /* events per cycle of one multiprocessor at most; 0: unknown */
    bool of_dram; /* bytes that the feature needs as percent of the memory bandwidth */
    bool always;  /* it is active as long as any kernel runs */
    jm__ncu_unit_part within;
} jm__ncu_word;

/* A kind of board of the chip. */
typedef struct jm__ncu_board {
    char name[32];
    char profile[32]; /* sensor profile of the board whose shipped model is nearest */
    char match[64];   /* shell pattern of its name; "": that of the profile */
    double multiprocessors, dram_hz, dram_bytes_per_second, l2_bytes, limit_w;
    double clock_mhz; /* maximum, of the multiprocessors */
} jm__ncu_board;

/* Members, and their keys in the file. */
#define JM_NCU_FACTS_MAP(X)                                                                                  \
    X(duration)                                                                                              \
    X(clock)                                                                                                 \
    X(cycles)                                                                                                \
    X(active)                                                                                                \
    X(sm_busy)                                                                                               \
    X(issue_busy)                                                                                            \
    X(ipc)                                                                                                   \
    X(threads)                                                                                               \
    X(dram_clock)                                                                                            \
    X(dram_bytes)                                                                                            \
    X(multiprocessors)                                                                                       \
    X(name)                                                                                                  \
    X(pci_domain)                                                                                            \
    X(pci_bus)                                                                                               \
    X(pci_device)

typedef struct jm__ncu_words {
    char chip[32], title[64];
    int cc_major, cc_minor;
    jm__ncu_word words[JM_WORDS_MAX];
    size_t count;
    jm__ncu_board boards[8];
    size_t board_count;
    jm__ncu_places within[JM_PART_COUNT]; /* utilisation of each unit in percent */
#define X(member) jm__ncu_places member;
    JM_NCU_FACTS_MAP(X)
#undef X
} jm__ncu_words;

extern const jm__embedded jm__ncu_words_table[];

/* The table for a compute capability; 0, 0: the first one. NOT_SUPPORTED: there is none, with a list of the
 * existing ones. */
jm_status jm__ncu_words_load(jm__ncu_words *words, int cc_major, int cc_minor, jm_error *err);

/* NULL: ncu has no such counter. */
const jm__ncu_word *jm__ncu_word_of(const jm__ncu_words *words, const char *metric);

/* "TPC.TriageCompute.sm__x.sum" is "sm__x.sum". */
const char *jm__ncu_feature_name(const char *metric);

/* For jm__ncu_read: `context` is a jm__ncu_words. */
bool jm__ncu_words_filter(const void *context, const char *section, const char *name, const char *unit);

typedef struct jm__ncu_sheet {
    const jm__ncu *ncu;
    jm__text_ids keys; /* section, name and unit: the slot */
    size_t *slot_of;   /* [metrics] */
    jm__ncu_value
        *values; /* [keys]; a number that is stated twice with different values is NAN; line 0: missing */
} jm__ncu_sheet;

jm_status jm__ncu_sheet_init(jm__ncu_sheet *sheet, const jm__ncu *ncu, jm_error *err);
void jm__ncu_sheet_free(jm__ncu_sheet *sheet);

/* Selects the kernel for the functions below. */
void jm__ncu_sheet_fill(jm__ncu_sheet *sheet, const jm__ncu_kernel *kernel);

/* The first of these places with a number in its unit; NAN: none. */
double jm__ncu_sheet_place(const jm__ncu_sheet *sheet, const jm__ncu_places *places);

/* The first of these places with a text; NULL: none. */
const char *jm__ncu_sheet_text(const jm__ncu_sheet *sheet, const jm__ncu_places *places);

/* The total of a counter ("sm__inst_executed") from any form of it in the file: .sum, a rate, a mean over
 * units, percent of its peak (`peak` events per cycle and multiprocessor, 0: unknown). NAN: none of them. */
typedef struct jm__ncu_scale {
    double duration_s, cycles, active_cycles, multiprocessors; /* NAN: unknown */
} jm__ncu_scale;
double jm__ncu_sheet_total(const jm__ncu_sheet *sheet, const char *counter, double peak,
                           const jm__ncu_scale *scale);

/* Time, cycles and multiprocessors of the sheet's kernel; NAN: not stated. `clock_hz`: the clock while ncu
 * ran it. */
void jm__ncu_scale_find(jm__ncu_scale *scale, double *clock_hz, const jm__ncu_words *words,
                        const jm__ncu_board *board, const jm__ncu_sheet *sheet);

/* Events of one launch, or percent times seconds; NAN: missing. */
double jm__ncu_amount(const jm__ncu_word *word, const jm__ncu_board *board, const jm__ncu_sheet *sheet,
                      const jm__ncu_scale *scale);

/* The board with the nearest memory clock, for files that do not name their board; for NAN the first one. */
const jm__ncu_board *jm__ncu_board_by_memory(const jm__ncu_words *words, double dram_hz);

#endif
