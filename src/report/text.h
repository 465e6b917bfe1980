/* The cells of a table row, column by column. */
#ifndef JM_REPORT_TEXT_H
#define JM_REPORT_TEXT_H

#include "report/fold.h"
#include "report/table.h"

/* What at least one row of a table has. Columns without content are left out. */
typedef struct jm__row_traits {
    bool by_kernel;
    bool by_request;
    bool several;     /* some row has several members */
    bool both_passes; /* some row has energy in forward and in backward passes */
    bool has_layer;   /* some row is mostly in one layer */
} jm__row_traits;

/* Whether the row is idle time or a gap. Its place is then the layer after it. */
bool jm__row_is_pause(const jm_row *row);

/* The layer with at least half of the row's energy; NULL: none. For tables and pages. */
const char *jm__row_place(const jm_row *row);

/* Whether that place is a layer. The column of places is shown only if some row has one. */
bool jm__row_has_layer(const jm_row *row);

void jm__row_traits_add(jm__row_traits *traits, const jm__part *part);

/* Write the cells of a line. `sums_only`: only columns that can be summed over rows. False if memory is out.
 */
bool jm__row_cells(char cells[][JM_CELL], const jm__row_traits *traits, const jm__part *part,
                   const jm__energy_scale *scale, bool sums_only);

#endif
