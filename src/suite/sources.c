/* The table that cmake/embed.cmake makes of kernels/. */
#include "suite/sources.h"

#include "base/embedded.h"

#include <stdlib.h>
#include <string.h>

extern const jm__embedded suite_source_table[];

static const char header[] = "common";

char *suite_source_text(const char *name)
{
    for (const jm__embedded *one = suite_source_table; one->name != NULL; one++) {
        if (strcmp(one->name, name) != 0) continue;
        char *text = malloc(one->length + 1);
        if (text == NULL) return NULL;
        memcpy(text, one->text, one->length);
        text[one->length] = '\0';
        return text;
    }
    return NULL;
}

const char *suite_source_name(size_t index)
{
    for (const jm__embedded *one = suite_source_table; one->name != NULL; one++)
        if (strcmp(one->name, header) != 0 && index-- == 0) return one->name;
    return NULL;
}
