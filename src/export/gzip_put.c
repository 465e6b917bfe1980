/* zlib's stream, a part at a time. */
#include "export/gzip_put.h"

/* zlib's own choice of window, and 16 for gzip's header. */
enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };

bool jm__gzip_begin(jm__gzip *gzip, FILE *out)
{
    *gzip = (jm__gzip){.out = out};
    return deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                        Z_DEFAULT_STRATEGY) == Z_OK;
}

static void put(jm__gzip *gzip, int flush)
{
    unsigned char part[1 << 14];
    do {
        gzip->stream.next_out = part;
        gzip->stream.avail_out = sizeof part;
        deflate(&gzip->stream, flush);
        fwrite(part, 1, sizeof part - gzip->stream.avail_out, gzip->out);
    } while (gzip->stream.avail_out == 0);
}

void jm__gzip_put(jm__gzip *gzip, const void *bytes, size_t count)
{
    gzip->stream.next_in = bytes;
    gzip->stream.avail_in = (uInt)count;
    put(gzip, Z_NO_FLUSH);
}

void jm__gzip_end(jm__gzip *gzip, bool whole)
{
    if (whole) put(gzip, Z_FINISH);
    deflateEnd(&gzip->stream);
}
