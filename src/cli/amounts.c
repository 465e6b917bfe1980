/* Times and sizes as people write them: "90s", "2h", "200M". */
#include "cli/verb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct suffix {
    const char *text;
    double factor;
} suffix;

static bool parse(const char *text, const suffix *suffixes, size_t count, double *out)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || !isfinite(value) || value <= 0) return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(end, suffixes[i].text) == 0) {
            *out = value * suffixes[i].factor;
            return isfinite(*out);
        }
    return false;
}

bool cli_get_duration(const cli_args *args, const char *name, double least_s, double *out_s)
{
    static const suffix suffixes[] = {{"", 1}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}};
    const char *text = cli_get(args, name);
    double value;
    if (text == NULL) return true;
    if (parse(text, suffixes, sizeof suffixes / sizeof *suffixes, &value) && value >= least_s &&
        value < 1e9) {
        *out_s = value;
        return true;
    }
    cli_usage_error(args,
                    "option \"%s\" cannot be \"%.40s\": it is a time of at least %g s, as 90s, 30m, 2h or 1d",
                    name, text, least_s);
    return false;
}

bool cli_get_size(const cli_args *args, const char *name, double least_bytes, int64_t *out_bytes)
{
    static const suffix suffixes[] = {{"", 1},          {"k", 1e3},          {"K", 1e3},  {"kB", 1e3},
                                      {"M", 1e6},       {"MB", 1e6},         {"G", 1e9},  {"GB", 1e9},
                                      {"MiB", 1048576}, {"GiB", 1073741824}, {"T", 1e12}, {"TB", 1e12},
                                      {"KiB", 1024.}};
    const char *text = cli_get(args, name);
    double value;
    if (text == NULL) return true;
    if (parse(text, suffixes, sizeof suffixes / sizeof *suffixes, &value) && value >= least_bytes &&
        value < 1e15) {
        *out_bytes = (int64_t)value;
        return true;
    }
    cli_usage_error(args, "option \"%s\" cannot be \"%.40s\": it is a size of at least %g MB, as 200M or 2G",
                    name, text, least_bytes / 1e6);
    return false;
}
