/* What equal layers that are taken together are called. */
#include "report/fold_name.h"

#include <string.h>

static const jm_row *member(const jm__fold_members *m, size_t i)
{
    return jm__fold_row(m->source, m->items[i].row);
}

/* A component of a path, or all of a name. */
typedef struct piece {
    const char *text;
    size_t length;
} piece;

/* The component that stands there in the row's path, from 1; 0: the row's name. */
static piece piece_of(const jm__fold_members *m, size_t i, size_t component)
{
    const jm_row *of = member(m, i);
    if (component == 0) return (piece){of->name, strlen(of->name)};
    const char *text = of->path;
    while (--component > 0 && *text != '\0')
        text += strcspn(text, ".") + (text[strcspn(text, ".")] == '.');
    return (piece){text, strcspn(text, ".")};
}

static bool is_same(piece a, piece b)
{
    return a.length == b.length && strncmp(a.text, b.text, a.length) == 0;
}

size_t jm__fold_difference(const jm__fold_members *m)
{
    for (size_t component = 1;; component++) {
        piece first = piece_of(m, 0, component);
        for (size_t i = 1; i < m->count; i++)
            if (!is_same(first, piece_of(m, i, component))) return component;
        if (first.text[first.length] == '\0') return 0;
    }
}

/* "1,3,5,..": what differs in the members. */
static void add_different(jm__strbuf *out, const jm__fold_members *m, size_t component)
{
    enum { NAMED = 3 };
    piece said[NAMED];
    size_t different = 0;
    for (size_t i = 0; i < m->count && different <= NAMED; i++) {
        piece mine = piece_of(m, i, component);
        size_t same = 0;
        while (same < different && !is_same(said[same], mine))
            same++;
        if (same < different) continue;
        jm__strbuf_add(out, different > 0 ? "," : "");
        if (different < NAMED) {
            jm__strbuf_add_bytes(out, mine.text, mine.length);
            said[different] = mine;
        } else {
            jm__strbuf_add(out, "..");
        }
        different++;
    }
}

bool jm__fold_has_names(const jm__fold_members *m)
{
    for (size_t i = 1; i < m->count; i++)
        if (strcmp(member(m, 0)->name, member(m, i)->name) != 0) return true;
    return false;
}

/* A board beside others of its name: equal GPUs of one machine. */
static bool has_namesake(const jm__fold_members *m)
{
    const jm_row *board = member(m, 0);
    if (board->depth > 0 || (strcmp(board->kind, "gpu") != 0 && strcmp(board->kind, "cpu") != 0))
        return false;
    for (size_t i = 0; i < m->source->count; i = m->end[i])
        if (i != m->items[0].row && strcmp(jm__fold_row(m->source, i)->name, board->name) == 0) return true;
    return false;
}

/* "*" of layers that differ in their number, "1,3,5,.." of a lesser part of those, or where other siblings
 * would be "*", too; "attn", and "attn (1,3)" of a lesser part of those in layers 0 to 5; "NVIDIA H200 1". */
static void add_names(jm__strbuf *out, const jm__fold_members *m, const jm__fold_manner *how)
{
    bool differ = jm__fold_has_names(m), numbered = m->items[0].numbered;
    if (differ && numbered && how->most && how->starred) {
        jm__strbuf_add(out, "*");
    } else if (differ && numbered) {
        add_different(out, m, 0);
    } else {
        jm__strbuf_add(out, member(m, 0)->name);
        if (has_namesake(m)) jm__strbuf_format(out, " %s", member(m, 0)->boards);
        if (how->differ_at == 0) return;
        jm__strbuf_add(out, " (");
        add_different(out, m, how->differ_at);
        jm__strbuf_add(out, ")");
    }
}

size_t jm__class_length(const char *type)
{
    return strcspn(type, "(");
}

void jm__fold_name(jm__strbuf *out, const jm__fold_members *m, const jm__fold_manner *how)
{
    if (how->names == 0) {
        add_names(out, m, how);
        return;
    }
    const char *type = member(m, 0)->type;
    jm__strbuf_format(out, "%zu ", how->names);
    jm__strbuf_add_bytes(out, type, jm__class_length(type));
}
