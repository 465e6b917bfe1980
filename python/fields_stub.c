/* Writes joulemap/_fields.pyi: the classes of a report's fields for type checkers and editors. At run time
 * joulemap/_row_types.py makes the same classes from the same tables (_core.ROW_FIELDS). */
#include <joulemap/report.h>
#include <stdio.h>

static const char head[] = "# Made from include/joulemap/report_fields.h by python/fields_stub.c.\n"
                           "from dataclasses import dataclass\n";

static void print_class(const char *name)
{
    printf("\n@dataclass(frozen=True, slots=True)\nclass %s:\n", name);
}

#define X(kind, type, python) static const char python_##kind[] = python;
JM_FIELD_KIND_MAP(X)
#undef X

int main(void)
{
    fputs(head, stdout);
#define X(kind, name, key, place, doc)                                                                       \
    printf("    %s: %s\n    r\"\"\"%s.\"\"\"\n", #name, python_##kind, doc);
    print_class("Row");
    JM_ROW_FIELDS(X)
    print_class("Totals");
    JM_TOTALS_FIELDS(X)
    print_class("Quality");
    JM_QUALITY_FIELDS(X)
#undef X
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
