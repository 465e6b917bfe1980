/* Numbers in module paths. */
#include "base/module_path.h"

#include <string.h>

void jm__module_path_add_unnumbered(jm__strbuf *out, const char *path)
{
    for (;; path++) {
        size_t length = strcspn(path, "."), digits = strspn(path, "0123456789");
        if (digits > 0 && digits == length)
            jm__strbuf_add(out, "*");
        else
            jm__strbuf_add_bytes(out, path, length);
        path += length;
        if (*path == '\0') return;
        jm__strbuf_add(out, ".");
    }
}
