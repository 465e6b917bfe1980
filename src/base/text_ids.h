/* Ids of texts: from 0, in the order in which they first come. */
#ifndef JM_BASE_TEXT_IDS_H
#define JM_BASE_TEXT_IDS_H

#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"

typedef struct jm__text_ids {   /* zeroed: empty */
    JM_VEC(const char *) items; /* by id: copies, which stay where they are */
    jm__map by_text;
    jm__text_store store;
} jm__text_ids;

/* The id of a text; -1: it has none. */
int64_t jm__text_ids_find(const jm__text_ids *ids, const char *text);

/* The same, with a new id for a new text; -1: memory is out. */
int64_t jm__text_ids_add(jm__text_ids *ids, const char *text);

void jm__text_ids_free(jm__text_ids *ids);

#endif
