/* How a diff calls its sides and runs. */
#include "report/diff_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool keep_name(char **own, const char *wanted, const char *usual)
{
    *own = strdup(wanted != NULL && wanted[0] != '\0' ? wanted : usual);
    return *own != NULL;
}

/* Bytes that all names of a side begin with, whole characters. */
static size_t common_length(const jm_diff_side *side)
{
    const char *first = side->names[0];
    size_t length = strlen(first);
    for (size_t i = 1; i < side->count; i++) {
        size_t same = 0;
        while (side->names[i] != NULL && same < length && side->names[i][same] == first[same])
            same++;
        length = same;
    }
    while (length > 0 && (first[length] & 0xC0) == 0x80)
        length--;
    return length;
}

static bool is_between_words(char byte)
{
    return byte == '\0' || strchr("0123456789-_./ ", byte) != NULL;
}

/* "base" of "base-1", "base-2" and "base-3"; NULL if they have no names, "" if no whole words in common. */
static char *common_name(const jm_diff_side *side)
{
    if (side->names == NULL || side->names[0] == NULL) return NULL;
    const char *first = side->names[0];
    size_t length = common_length(side);
    bool whole = true;
    for (size_t i = 0; i < side->count; i++)
        whole = whole && side->names[i] != NULL && is_between_words(side->names[i][length]);
    while (!whole && length > 0 && !is_between_words(first[length - 1]))
        length--;
    while (side->count > 1 && length > 0 && is_between_words(first[length - 1]))
        length--;
    return strndup(first, length);
}

/* As wanted, else by the names of the runs; "A" and "B" say more than two that are `alike`. */
static bool name_sides(jm_diff *diff, const jm_diff_side *const sides[2], const jm_diff_options *options,
                       bool *alike)
{
    char *common[2] = {common_name(sides[0]), common_name(sides[1])};
    *alike = common[0] != NULL && common[1] != NULL && strcmp(common[0], common[1]) == 0;
    const char *wanted[2] = {options->name_a, options->name_b};
    bool fine = true;
    for (int s = 0; s < 2; s++) {
        if (wanted[s] == NULL && !*alike) wanted[s] = common[s];
        fine = fine && keep_name(&diff->names[s], wanted[s], s == 0 ? "A" : "B");
    }
    free(common[0]);
    free(common[1]);
    return fine;
}

/* Without a name, or where both sides have one run of the same name, "A"; "A2" of several. */
static bool name_runs(jm_diff *diff, int side, const jm_diff_side *wanted, bool alike)
{
    bool named = wanted->names != NULL && !(alike && jm__diff_run_count(diff) == 2);
    jm__diff_run *runs = diff->runs + (side == 0 ? 0 : diff->counts[0]);
    for (size_t i = 0; i < wanted->count; i++) {
        char usual[32];
        if (wanted->count == 1)
            snprintf(usual, sizeof usual, "%s", diff->names[side]);
        else
            snprintf(usual, sizeof usual, "%c%zu", "AB"[side], i + 1);
        if (!keep_name(&runs[i].name, named ? wanted->names[i] : NULL, usual)) return false;
    }
    return true;
}

bool jm__diff_name(jm_diff *diff, const jm_diff_side *a, const jm_diff_side *b,
                   const jm_diff_options *options)
{
    const jm_diff_side *const sides[2] = {a, b};
    bool alike;
    return name_sides(diff, sides, options, &alike) && name_runs(diff, 0, a, alike) &&
           name_runs(diff, 1, b, alike);
}
