/* The columns of a table on the page. */
#include "page/lines_json.h"

#include "base/utf8.h"
#include "page/column.h"
#include "report/format.h"
#include "report/text.h"

#include <string.h>

enum { LONGEST_NAME = 240 }; /* bytes: a C++ name may have thousands */

static json_t *text_cut(const char *text)
{
    jm__strbuf whole = {0};
    size_t length = jm__utf8_cut(text, LONGEST_NAME);
    jm__strbuf_add_bytes(&whole, text, length);
    if (text[length] != '\0') jm__strbuf_add(&whole, "\xe2\x80\xa6");
    json_t *value = whole.failed ? NULL : jm__json_text(whole.text != NULL ? whole.text : "");
    jm__strbuf_free(&whole);
    return value;
}

static const jm__page_line *line_at(const void *context, size_t i)
{
    return &((const jm__page_lines *)context)->items.items[i];
}

static json_t *name_of(const void *context, size_t i)
{
    return text_cut(line_at(context, i)->name);
}

/* null: its name. */
static json_t *path_of(const void *context, size_t i)
{
    const jm__page_line *line = line_at(context, i);
    return strcmp(line->row->path, line->name) == 0 ? json_null() : text_cut(line->row->path);
}

/* A C++ name as a table may have it; null: the name is short as it is. */
static json_t *short_of(const void *context, size_t i)
{
    const char *name = line_at(context, i)->name;
    if (!jm__is_cpp_name(name)) return json_null();
    jm__strbuf text = {0};
    jm__kernel_name_add(&text, name, JM_BREVITY_INNER);
    json_t *value = text.failed ? NULL : text_cut(text.text != NULL ? text.text : name);
    jm__strbuf_free(&text);
    return value;
}

static json_t *says_kind_of(const void *context, size_t i)
{
    return json_boolean(line_at(context, i)->says_kind);
}

static json_t *members_of(const void *context, size_t i)
{
    return json_integer((json_int_t)line_at(context, i)->members);
}

#define TEXT_OF(field)                                                                                       \
    static json_t *field##_of(const void *context, size_t i)                                                 \
    {                                                                                                        \
        return text_cut(line_at(context, i)->row->field);                                                    \
    }
#define WHOLE_OF(field)                                                                                      \
    static json_t *field##_of(const void *context, size_t i)                                                 \
    {                                                                                                        \
        return json_integer(line_at(context, i)->row->field);                                                \
    }
#define REAL_OF(field)                                                                                       \
    static json_t *field##_of(const void *context, size_t i)                                                 \
    {                                                                                                        \
        return jm__json_real(line_at(context, i)->row->field);                                               \
    }
#define REAL_OF_LINE(field)                                                                                  \
    static json_t *field##_of(const void *context, size_t i)                                                 \
    {                                                                                                        \
        return jm__json_real(line_at(context, i)->field);                                                    \
    }

TEXT_OF(kind)
TEXT_OF(type)
TEXT_OF(boards)
WHOLE_OF(depth)
WHOLE_OF(calls)
REAL_OF(busy_s)
REAL_OF(energy_j)
REAL_OF(energy_low_j)
REAL_OF(energy_high_j)
REAL_OF(power_w)
REAL_OF(share)
REAL_OF(forward_share)
REAL_OF(backward_share)
REAL_OF(mostly_share)
REAL_OF_LINE(own_j)
REAL_OF_LINE(area_j)
REAL_OF_LINE(area_s)

/* As tables have it: what no line of its sort says of a layer, none says. */
static json_t *place_of(const void *context, size_t i, bool of_pauses)
{
    const jm__page_lines *lines = context;
    const jm_row *row = line_at(context, i)->row;
    const char *place = jm__row_place(row);
    bool told = place != NULL && jm__row_is_pause(row) == of_pauses &&
                (of_pauses ? lines->before_layers : lines->in_layers);
    return told ? text_cut(place) : json_null();
}

static json_t *mostly_in_of(const void *context, size_t i)
{
    return place_of(context, i, false);
}

static json_t *mostly_before_of(const void *context, size_t i)
{
    return place_of(context, i, true);
}

static json_t *known_of(const void *context, size_t i)
{
    return jm__json_text(jm_provenance_text(line_at(context, i)->row->provenance));
}

static const jm__page_column columns[] = {
    {"name", name_of},
    {"path", path_of},
    {"short", short_of},
    {"says_kind", says_kind_of},
    {"kind", kind_of},
    {"type", type_of},
    {"boards", boards_of},
    {"depth", depth_of},
    {"x", members_of},
    {"calls", calls_of},
    {"busy_s", busy_s_of},
    {"energy_j", energy_j_of},
    {"low_j", energy_low_j_of},
    {"high_j", energy_high_j_of},
    {"own_j", own_j_of},
    {"power_w", power_w_of},
    {"share", share_of},
    {"forward_share", forward_share_of},
    {"backward_share", backward_share_of},
    {"mostly_in", mostly_in_of},
    {"mostly_before", mostly_before_of},
    {"mostly_share", mostly_share_of},
    {"known", known_of},
    {"area_j", area_j_of},
    {"area_s", area_s_of},
};

json_t *jm__page_lines_json(const jm__page_lines *lines)
{
    json_t *table = jm__page_columns(columns, sizeof columns / sizeof *columns, lines->items.count, lines);
    json_t *rest = json_pack(
        "{sI so so so}", "rows", (json_int_t)lines->left_out, "energy_j", jm__json_real(lines->left_out_j),
        "area_j", jm__json_real(lines->left_out_area_j), "area_s", jm__json_real(lines->left_out_area_s));
    if (json_object_set_new(table, "left_out", rest) == 0) return table; /* frees it without a table, too */
    json_decref(table);
    return NULL;
}
