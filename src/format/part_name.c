/* Names of the parts of a recording. */
#include "format/part_name.h"

#include "base/strbuf.h"
#include "base/vec.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 4 }; /* at least: with so many, names sort as numbers do up to 9999 */

const char *jm__part_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* How much of a file's name stands before its ending, ".joulemap": all of ".name". */
static size_t stem_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot == NULL || dot == name ? strlen(name) : (size_t)(dot - name);
}

char *jm__part_name(const char *base, int64_t number)
{
    jm__strbuf path = {0};
    const char *name = jm__part_file_name(base);
    size_t stem = (size_t)(name - base) + stem_length(name);
    jm__strbuf_add_bytes(&path, base, stem);
    jm__strbuf_format(&path, ".%0*" PRId64 "%s", DIGITS, number, base + stem);
    return jm__strbuf_take(&path);
}

int64_t jm__part_number(const char *base, const char *name)
{
    const char *own = jm__part_file_name(base);
    size_t stem = stem_length(own);
    if (strncmp(name, own, stem) != 0 || name[stem] != '.') return 0;
    const char *digits = name + stem + 1;
    size_t count = strspn(digits, "0123456789");
    if (count < DIGITS || count > 12 || (count > DIGITS && digits[0] == '0')) return 0;
    return strcmp(digits + count, own + stem) == 0 ? strtoll(digits, NULL, 10) : 0;
}

char *jm__part_beside(const char *path, const char *name)
{
    jm__strbuf other = {0};
    jm__strbuf_add_bytes(&other, path, (size_t)(jm__part_file_name(path) - path));
    jm__strbuf_add(&other, name);
    return jm__strbuf_take(&other);
}

static int falling(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left < right) - (left > right);
}

bool jm__part_numbers(const char *base, int64_t **numbers, size_t *count)
{
    JM_VEC(int64_t) found = {0};
    bool fine = true;
    char *folder = jm__part_beside(base, ".");
    DIR *entries = folder == NULL ? NULL : opendir(folder);
    for (struct dirent *entry; fine && entries != NULL && (entry = readdir(entries)) != NULL;) {
        int64_t number = jm__part_number(base, entry->d_name);
        fine = number == 0 || jm__vec_push(&found, number);
    }
    if (entries != NULL) closedir(entries);
    fine = fine && folder != NULL;
    free(folder);
    if (!fine) jm__vec_free(&found);
    if (found.count > 0) qsort(found.items, found.count, sizeof *found.items, falling);
    *numbers = found.items;
    *count = found.count;
    return fine;
}

char *jm__part_newest(const char *base)
{
    int64_t *numbers;
    size_t count;
    if (!jm__part_numbers(base, &numbers, &count)) return NULL;
    char *path = count == 0 ? NULL : jm__part_name(base, numbers[0]);
    free(numbers);
    return path;
}
