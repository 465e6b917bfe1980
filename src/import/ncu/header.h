/* The header line of a table of ncu's: which page it is, and in which column what stands. */
#ifndef JM_IMPORT_NCU_HEADER_H
#define JM_IMPORT_NCU_HEADER_H

#include "base/csv.h"

/* Columns that tell of the kernel: member, and what ncu calls it. */
#define JM_NCU_COLUMN_MAP(X)                                                                                 \
    X(id, "ID")                                                                                              \
    X(process_id, "Process ID")                                                                              \
    X(process, "Process Name")                                                                               \
    X(host, "Host Name")                                                                                     \
    X(kernel, "Kernel Name")                                                                                 \
    X(context, "Context")                                                                                    \
    X(stream, "Stream")                                                                                      \
    X(block, "Block Size")                                                                                   \
    X(grid, "Grid Size")                                                                                     \
    X(device, "Device")                                                                                      \
    X(cc, "CC")                                                                                              \
    X(launches, "Invocations")                                                                               \
    X(section, "Section Name")                                                                               \
    X(metric, "Metric Name")                                                                                 \
    X(unit, "Metric Unit")                                                                                   \
    X(value, "Metric Value")                                                                                 \
    X(average, "Average")

typedef enum jm__ncu_form {
    JM_NCU_DETAILS,
    JM_NCU_RAW,
    JM_NCU_SUMMARY,
} jm__ncu_form;

#define JM_NCU_NO_COLUMN ((size_t)-1)

typedef struct jm__ncu_header {
    jm__ncu_form form;
    bool quoted; /* its lines begin with a quote, as ncu writes them; else somebody saved the table again */
#define X(member, name) size_t member;
    JM_NCU_COLUMN_MAP(X)
#undef X
} jm__ncu_header;

/* The bytes of a line that stand before a header line in it (0: it is one from its first byte; a program that
 * prints no line end stands before it); JM_NCU_NO_COLUMN: there is none. */
size_t jm__ncu_header_at(const char *line, bool *quoted);

/* Which columns the header line that was just read has. BAD_DATA: it lacks what no page lacks. */
jm_status jm__ncu_header_read(jm__ncu_header *header, const jm__csv *csv, bool quoted, jm_error *err);

/* A column of the raw page that is no metric. */
bool jm__ncu_is_fixed(const char *column);

#endif
