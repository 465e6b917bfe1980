/* What joulemap's counters are in ncu's words, by chip (src/import/ncu/words/NAME.json, one file a chip),
 * what a file says of one kernel, looked up by name, and what that is in the units of a feature of a board's
 * model. */
#ifndef JM_IMPORT_NCU_SHEET_H
#define JM_IMPORT_NCU_SHEET_H

#include "base/embedded.h"
#include "base/map.h"
#include "import/ncu/ncu.h"

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>

#define JM_WORDS_MAX  64
#define JM_PLACES_MAX 8
#define JM_NAMES_MAX  4

/* Where a file has something. */
typedef struct jm__ncu_place {
    char section[48]; /* "": the name tells alone, whatever the page */
    char name[128];
    char unit[24];
} jm__ncu_place;

typedef struct jm__ncu_places {
    jm__ncu_place items[JM_PLACES_MAX];
    size_t count;
} jm__ncu_places;

/* Of what unit a counter's use cannot be more than. */
typedef enum jm__ncu_unit_part {
    JM_PART_NONE,
    JM_PART_SM,
    JM_PART_L1,
    JM_PART_L2,
    JM_PART_DRAM,
    JM_PART_COUNT,
} jm__ncu_unit_part;

typedef struct jm__ncu_word {
    char feature[96]; /* without what says which sampler it is of (jm__ncu_feature_name) */
    char counters[JM_NAMES_MAX]
                 [64]; /* of ncu's, without ".sum" and the like; the first that is there counts */
    size_t counter_count;
    char pair[2][64]; /* or the first less the second; "": none */
    char percents[JM_NAMES_MAX][80];
    size_t percent_count;
    jm__ncu_places labels; /* sums of events under other names */
    jm__ncu_places times;  /* what those have to be multiplied by; none: by nothing */
    jm__ncu_places shares; /* percent of its peak, over all cycles */
    jm__ncu_places shares_of_both,
        shares_of_other; /* or of a pair of units with twice the peak, less the other's */
    double peak;         /* events a cycle that a multiprocessor can have; 0: not known */
    bool of_dram;        /* bytes, wanted in percent of what the memory can */
    bool always;         /* it runs as long as any kernel does */
    jm__ncu_unit_part within;
} jm__ncu_word;

/* A kind of board of the chip. */
typedef struct jm__ncu_board {
    char name[32];
    char profile[32]; /* of the sensors' profiles: whose shipped model is nearest */
    char match[64];   /* what its name looks like, as a shell pattern; "": what the profile matches */
    double multiprocessors, dram_hz, dram_bytes_per_second, l2_bytes, limit_w;
    double clock_mhz; /* of the multiprocessors, at most */
} jm__ncu_board;

/* Members, and their keys in the file. */
#define JM_NCU_FACTS_MAP(X)                                                                                  \
    X(duration)                                                                                              \
    X(clock)                                                                                                 \
    X(cycles)                                                                                                \
    X(active)                                                                                                \
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
    jm__ncu_places within[JM_PART_COUNT]; /* percent of what the unit can */
#define X(member) jm__ncu_places member;
    JM_NCU_FACTS_MAP(X)
#undef X
} jm__ncu_words;

extern const jm__embedded jm__ncu_words_table[];

/* Of a compute capability; 0, 0: the first there is. NOT_SUPPORTED: no table, with those that there are. */
jm_status jm__ncu_words_load(jm__ncu_words *words, int cc_major, int cc_minor, jm_error *err);

/* NULL: ncu has no word for it. */
const jm__ncu_word *jm__ncu_word_of(const jm__ncu_words *words, const char *metric);

/* "TPC.TriageCompute.sm__x.sum" is "sm__x.sum". */
const char *jm__ncu_feature_name(const char *metric);

/* For jm__ncu_read: `context` is a jm__ncu_words. */
bool jm__ncu_words_want(const void *context, const char *section, const char *name, const char *unit);

typedef struct jm__ncu_sheet {
    const jm__ncu *ncu;
    const jm__ncu_kernel *kernel;
    jm__map slots;        /* section and name -> slot */
    jm__text_store texts; /* its keys */
    size_t *slot_of;      /* [metrics] */
    const char **units;   /* [slots] */
    double *numbers;      /* [slots]: NAN: missing, or told twice and differently */
    const char **words;   /* [slots]: a text in its place */
    uint32_t *lines;      /* [slots]: where it stands; 0: nowhere */
    size_t count;
} jm__ncu_sheet;

jm_status jm__ncu_sheet_init(jm__ncu_sheet *sheet, const jm__ncu *ncu, jm_error *err);
void jm__ncu_sheet_free(jm__ncu_sheet *sheet);

/* All that follows is of this kernel. */
void jm__ncu_sheet_fill(jm__ncu_sheet *sheet, const jm__ncu_kernel *kernel);

/* The first of these places that has a number in its unit; NAN: none. */
double jm__ncu_sheet_place(const jm__ncu_sheet *sheet, const jm__ncu_places *places);

/* The first that has a text; NULL: none. */
const char *jm__ncu_sheet_text(const jm__ncu_sheet *sheet, const jm__ncu_places *places);

/* What a counter ("sm__inst_executed") counted in all, out of whatever form of it is there: .sum, a rate, a
 * mean over units, percent of its peak (`peak` events a cycle and multiprocessor, 0: not known). NAN: none of
 * them. */
typedef struct jm__ncu_scale {
    double duration_s, cycles, active_cycles, multiprocessors; /* NAN: not known */
} jm__ncu_scale;
double jm__ncu_sheet_total(const jm__ncu_sheet *sheet, const char *counter, double peak,
                           const jm__ncu_scale *scale);

/* Time, cycles and multiprocessors of the sheet's kernel; NAN: not told. `clock_hz`: while ncu ran it. */
void jm__ncu_scale_find(jm__ncu_scale *scale, double *clock_hz, const jm__ncu_words *words,
                        const jm__ncu_board *board, const jm__ncu_sheet *sheet);

/* Events of one launch, or percent times seconds; NAN: the file does not have it. */
double jm__ncu_amount(const jm__ncu_word *word, const jm__ncu_board *board, const jm__ncu_sheet *sheet,
                      const jm__ncu_scale *scale);

/* The kind of board whose memory has the nearest clock, where a file does not name its board; NAN: the first.
 */
const jm__ncu_board *jm__ncu_board_by_memory(const jm__ncu_words *words, double dram_hz);

#endif
