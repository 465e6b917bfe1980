/* Names of the parts of a recording: run.joulemap has run.0001.joulemap, run.0002.joulemap and so on. */
#ifndef JM_FORMAT_PART_NAME_H
#define JM_FORMAT_PART_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The path of part `number` of the recording `base`: the caller frees it. NULL: no memory. */
char *jm__part_name(const char *base, int64_t number);

/* Of a name without its folder: the number of the part of `base` that it names, 0: none. */
int64_t jm__part_number(const char *base, const char *name);

/* Numbers of the files that are named as parts of `base`, falling; the caller frees them. False: no memory.
 * None where the folder cannot be read. */
bool jm__part_numbers(const char *base, int64_t **numbers, size_t *count);

/* The path of the newest part of `base`, as above; NULL: there is none. */
char *jm__part_newest(const char *base);

/* What comes after the last slash. */
const char *jm__part_file_name(const char *path);

/* The path of a file beside `path`, as above. */
char *jm__part_beside(const char *path, const char *name);

#endif
