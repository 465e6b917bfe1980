/* Which parts of a recording are there, and the removal of those that are too old. */
#include "format/old_parts.h"

#include "format/claim.h"
#include "format/database.h"
#include "format/part_name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

jm_status jm__old_parts_last(const char *base, int64_t *number, jm_error *err)
{
    int64_t *numbers;
    size_t count;
    *number = 0;
    if (!jm__part_numbers(base, &numbers, &count)) return jm__no_memory(err, "jm__old_parts_last");
    if (count > 0) *number = numbers[0];
    free(numbers);
    if (*number == 0) return JM_OK;
    char *path = jm__part_name(base, *number);
    if (path == NULL) return jm__no_memory(err, "jm__old_parts_last");
    jm_status status = jm__claim_refuse_written(path, err);
    free(path);
    return status;
}

/* As meta has it. A journal that was left with it is in the way of nothing: that fact is there from its
 * first commit on. */
static bool says_number(const char *path, int64_t number)
{
    sqlite3 *db;
    uint32_t tables;
    jm__marks marks;
    int64_t told = 0;
    struct stat info;
    if (lstat(path, &info) != 0 || !S_ISREG(info.st_mode)) return false;
    if (jm__database_open(&db, path, false, NULL) != JM_OK) return false;
    bool fine =
        jm__database_integer(db, "PRAGMA application_id", &marks.application_id, path, NULL) == JM_OK &&
        marks.application_id == JM_RECORDING_APPLICATION_ID &&
        jm__database_tables(db, &tables, path, NULL) == JM_OK &&
        jm__database_check_table(tables, JM_TABLE_META, path, NULL) == JM_OK &&
        jm__database_integer(db, "SELECT value FROM meta WHERE key = 'part'", &told, path, NULL) == JM_OK;
    jm__database_close(db);
    return fine && told == number;
}

static jm_status remove_part(const char *path, jm_error *err)
{
    int code = jm__claim_remove_files(path);
    if (code == 0 || code == ENOENT) return JM_OK;
    jm__fail(err, jm_status_of_errno(code), code, "unlink", "%s, an older part, could not be removed: %s",
             path, strerror(code));
    return jm__hint(err, jm_status_of_errno(code), "remove it, or make its folder writable");
}

jm_status jm__old_parts_remove(const char *base, int64_t before, int64_t keep, jm_error *err)
{
    int64_t *numbers, kept = 0;
    size_t count;
    jm_status status = JM_OK;
    if (!jm__part_numbers(base, &numbers, &count)) return jm__no_memory(err, "jm__old_parts_remove");
    for (size_t i = 0; i < count; i++) {
        char *path = numbers[i] < before ? jm__part_name(base, numbers[i]) : NULL;
        if (path != NULL && says_number(path, numbers[i]) && jm__claim_refuse_written(path, NULL) == JM_OK) {
            jm_error cause;
            bool goes = ++kept > keep;
            if (goes && remove_part(path, &cause) != JM_OK && status == JM_OK) {
                status = cause.status;
                if (err != NULL) *err = cause;
            }
        }
        free(path);
    }
    free(numbers);
    return status;
}
