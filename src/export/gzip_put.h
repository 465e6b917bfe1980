/* Bytes on their way out through gzip. */
#ifndef JM_EXPORT_GZIP_PUT_H
#define JM_EXPORT_GZIP_PUT_H

#define ZLIB_CONST /* what it reads is const */
#include <stdbool.h>
#include <stdio.h>
#include <zlib.h>

typedef struct jm__gzip {
    FILE *out;
    z_stream stream;
} jm__gzip;

/* False: no memory, and nothing is open. The same bytes give the same file: it has no time in it. */
bool jm__gzip_begin(jm__gzip *gzip, FILE *out);

/* Less than 4 GiB. An error of the stream is for whoever has it. */
void jm__gzip_put(jm__gzip *gzip, const void *bytes, size_t count);

/* What is left goes out, if `whole`; all memory is given back. */
void jm__gzip_end(jm__gzip *gzip, bool whole);

#endif
