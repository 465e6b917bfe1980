/* The fault list: parsed once, asked at every call. */
#include "faults.h"

#include "cuda_abi.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "5s", "500ms", "20us", "-3s"; a bare number is seconds. Moves *text behind it. */
static bool read_time(const char **text, int64_t *ns)
{
    char *end;
    double value = strtod(*text, &end);
    if (end == *text || !(value > -1e7 && value < 1e7)) return false;
    double scale = 1e9;
    if (strncmp(end, "ms", 2) == 0) {
        scale = 1e6;
        end += 2;
    } else if (strncmp(end, "us", 2) == 0) {
        scale = 1e3;
        end += 2;
    } else if (*end == 's') {
        end++;
    }
    *ns = (int64_t)(value * scale);
    *text = end;
    return true;
}

static bool read_number(const char **text, unsigned long long *number)
{
    char *end;
    if (!isdigit((unsigned char)**text)) return false;
    *number = strtoull(*text, &end, 10);
    *text = end;
    return true;
}

typedef struct error_name {
    const char *name;
    int number;
} error_name;

static const error_name nvml_errors[] = {
#define X(number, name, text) {#name, number},
    NVML_RETURN_MAP(X)
#undef X
};

static const error_name cupti_errors[] = {
#define X(number, name) {"ERROR_" #name, SIM_FOREIGN_ERROR + number},
    SIM_CUPTI_ERROR_MAP(X)
#undef X
};

static const error_name cuda_errors[] = {
#define X(number, name) {"ERROR_" #name, SIM_FOREIGN_ERROR + number},
    SIM_CUDA_ERROR_MAP(X)
#undef X
};

static bool find_error(const error_name *known, size_t count, const char *name, size_t length,
                       nvmlReturn_t *error)
{
    for (size_t i = 0; i < count; i++) {
        const char *with = known[i].name;
        const char *without = strncmp(with, "ERROR_", 6) == 0 ? with + 6 : with;
        if ((strlen(with) == length && memcmp(with, name, length) == 0) ||
            (strlen(without) == length && memcmp(without, name, length) == 0)) {
            *error = (nvmlReturn_t)known[i].number;
            return true;
        }
    }
    return false;
}

/* The call says whose errors those are. */
static bool read_error(const char *call, const char *name, size_t length, nvmlReturn_t *error)
{
#define FIND(known) find_error(known, sizeof(known) / sizeof *(known), name, length, error)
    if (strncmp(call, "cupti", 5) == 0) return FIND(cupti_errors);
    if (strncmp(call, "cu", 2) == 0) return FIND(cuda_errors);
    return FIND(nvml_errors);
#undef FIND
}

static bool read_call(const char **text, char *call, size_t size)
{
    size_t length = strcspn(*text, "=@#");
    if (length == 0 || length >= size) return false;
    memcpy(call, *text, length);
    call[length] = '\0';
    *text += length;
    return true;
}

/* [@from[-until]][#board] and the end */
static bool read_window(const char *text, sim_fault *fault)
{
    fault->until_ns = INT64_MAX;
    fault->board = -1;
    if (*text == '@') {
        text++;
        if (!read_time(&text, &fault->from_ns)) return false;
        if (*text == '-') {
            text++;
            if (!read_time(&text, &fault->until_ns)) return false;
        }
    }
    if (*text == '#') {
        char *end;
        long board = strtol(text + 1, &end, 10);
        if (end == text + 1 || board < 0 || board > 63) return false;
        fault->board = (int)board;
        text = end;
    }
    return *text == '\0';
}

static bool read_item(const char *text, sim_fault *fault)
{
    static const struct {
        const char *prefix;
        sim_fault_kind kind;
        bool call;
        bool amount;
    } forms[] = {
        {"missing:", SIM_FAULT_MISSING, true, false}, {"slow:", SIM_FAULT_SLOW, true, true},
        {"stuck:", SIM_FAULT_HELD, true, false},      {"glitch:", SIM_FAULT_GLITCH, true, false},
        {"lost", SIM_FAULT_LOST, false, false},       {"stuck", SIM_FAULT_STUCK, false, false},
        {"reset", SIM_FAULT_RESET, false, false},     {"step", SIM_FAULT_STEP, false, true},
    };
    memset(fault, 0, sizeof *fault);
    memcpy(fault->call, "*", 2);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t length = strlen(forms[i].prefix);
        if (strncmp(text, forms[i].prefix, length) != 0) continue;
        fault->kind = forms[i].kind;
        text += length;
        if (forms[i].call && !read_call(&text, fault->call, sizeof fault->call)) return false;
        if (forms[i].amount) {
            if (*text++ != '=' || !read_time(&text, &fault->amount_ns)) return false;
        }
        if (fault->kind == SIM_FAULT_GLITCH && (*text++ != '=' || !read_number(&text, &fault->number)))
            return false;
        return read_window(text, fault);
    }
    if (!read_call(&text, fault->call, sizeof fault->call) || *text++ != '=') return false;
    size_t length = strcspn(text, "@#");
    if (!read_error(fault->call, text, length, &fault->error)) return false;
    return read_window(text + length, fault);
}

bool sim_faults_parse(sim_faults *faults, const char *text, char *why, size_t why_size)
{
    faults->count = 0;
    while (text != NULL && *text != '\0') {
        char item[256];
        size_t length = strcspn(text, ";");
        size_t begin = 0;
        size_t end = length;
        while (begin < end && isspace((unsigned char)text[begin]))
            begin++;
        while (end > begin && isspace((unsigned char)text[end - 1]))
            end--;
        bool fits = end - begin < sizeof item && faults->count < SIM_FAULTS_MAX;
        if (fits && end > begin) {
            memcpy(item, text + begin, end - begin);
            item[end - begin] = '\0';
            fits = read_item(item, &faults->items[faults->count]);
            faults->count++;
        }
        if (!fits) {
            snprintf(why, why_size, "faults: cannot read \"%.*s\"", (int)(end - begin), text + begin);
            return false;
        }
        text += length;
        if (*text == ';') text++;
    }
    return true;
}

/* A '*' at the end of the pattern stands for any rest. */
static bool matches(const char *pattern, const char *call)
{
    size_t length = strlen(pattern);
    if (length > 0 && pattern[length - 1] == '*') return strncmp(pattern, call, length - 1) == 0;
    return strcmp(pattern, call) == 0;
}

const sim_fault *sim_fault_find(const sim_faults *faults, sim_fault_kind kind, const char *call, int board,
                                int64_t t_ns)
{
    for (int i = 0; i < faults->count; i++) {
        const sim_fault *one = &faults->items[i];
        if (one->kind != kind || t_ns < one->from_ns || t_ns >= one->until_ns) continue;
        if (one->board >= 0 && one->board != board) continue;
        if (!matches(one->call, call)) continue;
        return one;
    }
    return NULL;
}
