/* Header lines of ncu's tables. */
#include "import/ncu/header.h"

#include "base/plain.h"
#include "base/status.h"

#include <string.h>

static bool is_table(const char *header)
{
    return strstr(header, "Kernel Name") != NULL;
}

/* ncu parts fields by commas, spreadsheets that saved its file perhaps otherwise. */
static bool starts_with(const char *line, const char *start)
{
    for (; *start != '\0'; line++, start++)
        if (*line != *start && !(*start == ',' && (*line == ';' || *line == '\t'))) return false;
    return true;
}

/* pandas numbers the rows in a first column without a name, and then quotes what it likes. */
static bool is_row_number(const char *line, const char *id)
{
    size_t length = (size_t)(id - line);
    return (length == 1 || (length == 3 && strncmp(line, "\"\"", 2) == 0)) && strchr(",;\t", id[-1]) != NULL;
}

size_t jm__ncu_header_at(const char *line, bool *quoted)
{
    static const char *const quoted_starts[] = {"\"ID\",\"", "\"Process ID\",\"Process Name\""};
    static const char *const plain_starts[] = {"ID,", ",ID,", "Process ID,Process Name", ",Process ID,"};
    size_t mark = jm__mark_length(line, strlen(line));
    *quoted = true;
    for (const char *at = strchr(line, '"'); at != NULL; at = strchr(at + 1, '"'))
        if ((starts_with(at, quoted_starts[0]) || starts_with(at, quoted_starts[1])) && is_table(at)) {
            *quoted = !is_row_number(line + mark, at);
            return *quoted ? (size_t)(at - line) : mark;
        }
    *quoted = false;
    for (size_t i = 0; i < 4; i++)
        if (starts_with(line + mark, plain_starts[i]) && is_table(line)) return mark;
    return JM_NCU_NO_COLUMN;
}

static size_t find(const jm__csv *csv, const char *name)
{
    size_t column;
    return jm__csv_column(csv, name, &column, NULL) == JM_OK ? column : JM_NCU_NO_COLUMN;
}

bool jm__ncu_is_fixed(const char *column)
{
    static const char *const others[] = {
        "",
        "Kernel Time",
        "Rule Name",
        "Rule Type",
        "Rule Description",
        "Estimated Speedup Type",
        "Estimated Speedup",
    };
    static const char *const known[] = {
#define X(member, name) name,
        JM_NCU_COLUMN_MAP(X)
#undef X
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i], column) == 0) return true;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(others[i], column) == 0) return true;
    return strstr(column, "Domain:") != NULL; /* NVTX ranges */
}

jm_status jm__ncu_header_read(jm__ncu_header *header, const jm__csv *csv, bool quoted, jm_error *err)
{
    header->quoted = quoted;
#define X(member, name) header->member = find(csv, name);
    JM_NCU_COLUMN_MAP(X)
#undef X
    size_t column;
    JM_TRY(jm__csv_column(csv, "Kernel Name", &column, err));
    bool a_row_a_metric = header->metric != JM_NCU_NO_COLUMN;
    header->form = !a_row_a_metric ? JM_NCU_RAW
                   : header->value == JM_NCU_NO_COLUMN && header->average != JM_NCU_NO_COLUMN
                       ? JM_NCU_SUMMARY
                       : JM_NCU_DETAILS;
    if (header->form == JM_NCU_SUMMARY) header->value = header->average;
    if (!a_row_a_metric) return JM_OK;
    JM_TRY(jm__csv_column(csv, "Metric Unit", &column, err));
    if (header->form == JM_NCU_DETAILS) JM_TRY(jm__csv_column(csv, "Metric Value", &column, err));
    return JM_OK;
}
