/* A text table: columns as wide as their content, the names cut to what is left. */
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
    bool left;                  /* left-aligned */
    int sacrifice; /* If the terminal is too narrow, columns with the largest value go first; 0 stays. Up to
                      JM_TABLE_LAST_RESORT they go only if names have less than 16 columns */
} jm__table_column;

typedef struct jm__table_line {
    char *name; /* valid UTF-8, owned by the table */
    int depth;
    bool is_cpp;
    bool is_short;   /* a short name of a kernel, which others may have too */
    size_t number;   /* shown as " [#4]" after C++ and short names that look the same; 0: never */
    bool faint;      /* shown faint in colour: prior-dominated or unresolved */
    char hint[48];   /* after name and suffix if it fits; valid UTF-8 */
    char suffix[24]; /* after the name, never cut: " (backward)"; ASCII */
    char cells[JM_TABLE_COLUMNS][JM_CELL];
} jm__table_line;

typedef struct jm__table {
    const char *title; /* title of the first column, the names */
    jm__table_column columns[JM_TABLE_COLUMNS];
    size_t column_count;
    bool colour;
    size_t narrowest_name; /* minimum width of names in columns; 0: the default */
    JM_VEC(jm__table_line) lines;
} jm__table;

/* Add a line; the table takes `name`. False: no memory. */
bool jm__table_push(jm__table *table, jm__table_line line, jm__strbuf *name);

/* Add the table as text, at most `width` columns wide; 0: no limit. */
void jm__table_print(jm__strbuf *out, const jm__table *table, size_t width);
void jm__table_free(jm__table *table);

#endif
