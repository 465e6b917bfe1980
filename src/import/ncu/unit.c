/* A unit is a product and quotient of words, each with a prefix perhaps. */
#include "import/ncu/unit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct word {
    const char *name;
    const char *base;
    bool takes_small; /* n, u and m may stand before it */
} word;

static const word words[] = {
    {"byte", "byte", false},     {"bytes", "byte", false},     {"B", "byte", false},
    {"second", "second", true},  {"s", "second", true},        {"sec", "second", true},
    {"cycle", "cycle", false},   {"cycles", "cycle", false},   {"inst", "inst", false},
    {"sector", "sector", false}, {"sectors", "sector", false}, {"request", "request", false},
    {"warp", "warp", false},     {"thread", "thread", false},  {"block", "block", false},
    {"hz", "hz", false},         {"Hz", "hz", false},          {"register", "register", false},
};

static double large(char prefix)
{
    switch (prefix) {
    case 'k':
    case 'K':
        return 1e3;
    case 'M':
        return 1e6;
    case 'G':
        return 1e9;
    case 'T':
        return 1e12;
    case 'P':
        return 1e15;
    default:
        return 0;
    }
}

static double small(char prefix)
{
    switch (prefix) {
    case 'm':
        return 1e-3;
    case 'u':
        return 1e-6;
    case 'n':
        return 1e-9;
    case 'p':
        return 1e-12;
    default:
        return 0;
    }
}

static const word *find_word(const char *name)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].name, name) == 0) return &words[i];
    return NULL;
}

/* One word of the unit; its factor, and its base in *base, which is `name` itself where nothing is known. */
static double one(const char *name, const char **base)
{
    const word *known = find_word(name);
    double factor = 1;
    if (known == NULL && name[0] != '\0') {
        size_t taken = 1;
        factor = large(name[0]);
        if (factor > 0 && strncmp(name + 1, "iB", 3) == 0) { /* KiB: powers of two */
            factor = name[0] == 'K' ? 0x1p10 : name[0] == 'M' ? 0x1p20 : name[0] == 'G' ? 0x1p30 : 0x1p40;
            taken = 2;
        }
        known = factor > 0 ? find_word(name + taken) : NULL;
        if (known == NULL && (factor = small(name[0])) > 0) {
            known = find_word(name + 1);
            if (known != NULL && !known->takes_small) known = NULL;
        }
        if (known == NULL && strncmp(name, "\xc2\xb5", 2) == 0) { /* a micro sign */
            known = find_word(name + 2);
            factor = 1e-6;
        }
    }
    *base = known != NULL ? known->base : name;
    return known != NULL ? factor : 1;
}

double jm__ncu_unit(const char *unit, char base[JM_NCU_UNIT_TEXT])
{
    char text[JM_NCU_UNIT_TEXT];
    snprintf(text, sizeof text, "%s", unit);
    if (strlen(unit) >= sizeof text) { /* nobody's */
        snprintf(base, JM_NCU_UNIT_TEXT, "%s", text);
        return 1;
    }
    double factor = 1;
    size_t used = 0;
    bool divides = false, hertz = false;
    base[0] = '\0';
    for (char *rest = text; rest != NULL;) {
        char *slash = strchr(rest, '/');
        if (slash != NULL) *slash = '\0';
        const char *name;
        double by = one(rest, &name);
        hertz |= strcmp(name, "hz") == 0;
        factor = divides ? factor / by : factor * by;
        int added = snprintf(base + used, JM_NCU_UNIT_TEXT - used, "%s%s", divides ? "/" : "", name);
        if (added < 0 || (size_t)added >= JM_NCU_UNIT_TEXT - used) break;
        used += (size_t)added;
        divides = true;
        rest = slash != NULL ? slash + 1 : NULL;
    }
    if (hertz && strcmp(base, "hz") == 0) snprintf(base, JM_NCU_UNIT_TEXT, "cycle/second");
    return factor;
}
