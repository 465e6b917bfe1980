/* A table of text: columns as wide as what is in them, the first one cut to what is left. */
#ifndef JM_REPORT_TABLE_H
#define JM_REPORT_TABLE_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "report/format.h"

enum { JM_TABLE_COLUMNS = 16 }; /* at most, beside the names */

enum { JM_TABLE_TITLE = 164 }; /* bytes of a title: 40 characters of any kind */

enum { JM_TABLE_LAST_RESORT = 2 };

typedef struct jm__table_column {
    char title[JM_TABLE_TITLE]; /* valid UTF-8 */
    bool left;                  /* else to the right */
    int sacrifice;              /* where room is short the one with the largest goes first; 0 stays, up to
                                   JM_TABLE_LAST_RESORT it goes only when names have no 16 columns left */
} jm__table_column;

typedef struct jm__table_line {
    char *name; /* valid UTF-8, owned by the table */
    int depth;
    bool is_cpp;
    size_t number;   /* told beside C++ names that would look like another's: " [#4]" */
    bool faint;      /* where there are colours: little is known of it */
    char hint[48];   /* after all of it where there is room; valid UTF-8 */
    char suffix[24]; /* after the name, never cut: " (backward)"; ASCII */
    char cells[JM_TABLE_COLUMNS][JM_CELL];
} jm__table_line;

typedef struct jm__table {
    const char *title; /* of the first column, the names */
    jm__table_column columns[JM_TABLE_COLUMNS];
    size_t column_count;
    bool colour;
    size_t narrowest_name; /* columns of a terminal that names get at least; 0: as usual */
    JM_VEC(jm__table_line) lines;
} jm__table;

/* The line is the table's, with the name that this takes. False: no memory. */
bool jm__table_push(jm__table *table, jm__table_line line, jm__strbuf *name);

/* Add the table as text, at most `width` wide, 0: as wide as it is. */
void jm__table_print(jm__strbuf *out, const jm__table *table, size_t width);
void jm__table_free(jm__table *table);

#endif
