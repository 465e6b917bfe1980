/* What equal layers that are taken together are called. */
#ifndef JM_REPORT_FOLD_NAME_H
#define JM_REPORT_FOLD_NAME_H

#include "base/strbuf.h"
#include "report/fold_source.h"

/* A row among those that may be taken together. */
typedef struct jm__fold_candidate {
    size_t row;
    uint64_t look; /* kinds, types and names in its subtree */
    bool numbered;
} jm__fold_candidate;

/* Those that are, in the order of their rows. */
typedef struct jm__fold_members {
    const jm__fold_source *source;
    const size_t *end; /* of each row of the source: the first behind its subtree */
    const jm__fold_candidate *items;
    size_t count;
} jm__fold_members;

typedef struct jm__fold_manner {
    bool most;        /* of those that look like it */
    bool starred;     /* "*" says which: no other siblings that look alike differ in their number */
    size_t names;     /* 0: called by them; else as so many of their class */
    size_t differ_at; /* the component of their paths that tells them from others of their name; 0: none */
} jm__fold_manner;

/* Names ("attn"; "*" of numbers), or of siblings that are not told apart their class: "2 RMSNorm". */
void jm__fold_name(jm__strbuf *out, const jm__fold_members *members, const jm__fold_manner *how);

/* Whether they have several: "0" of "1.0" and "2.0" is one. */
bool jm__fold_has_names(const jm__fold_members *members);

/* Where the members' paths begin to differ, from 1; 0: nowhere. */
size_t jm__fold_difference(const jm__fold_members *members);

/* Of "RMSNorm" in "RMSNorm(2048)". */
size_t jm__class_length(const char *type);

#endif
