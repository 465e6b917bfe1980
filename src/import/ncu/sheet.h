/* What a file says of one kernel, looked up by name. */
#ifndef JM_IMPORT_NCU_SHEET_H
#define JM_IMPORT_NCU_SHEET_H

#include "base/map.h"
#include "import/ncu/ncu.h"
#include "import/ncu/words.h"

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

/* A metric whose name tells alone ("sm__inst_executed.sum"); NAN: it is not there. */
double jm__ncu_sheet_metric(const jm__ncu_sheet *sheet, const char *name);

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

#endif
