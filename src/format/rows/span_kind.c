/* What the kinds of spans are like. */
#include "format/rows/span_kind.h"

typedef enum role { OTHER, CONTAINER, LAYER, WORK } role;

typedef struct traits {
    const char *text;
    bool wide;
    role role;
} traits;

static const traits *traits_of(jm_span_kind kind)
{
    static const traits all[JM_SPAN_KIND_COUNT] = {{"none", false, OTHER},
#define X(name, text, process_wide, role) {text, process_wide, role},
                                                   JM_SPAN_KIND_MAP(X)
#undef X
    };
    return &all[(unsigned)kind < JM_SPAN_KIND_COUNT ? kind : JM_SPAN_NONE];
}

const char *jm_span_kind_text(jm_span_kind kind)
{
    return traits_of(kind)->text;
}

bool jm__span_kind_is_wide(jm_span_kind kind)
{
    return traits_of(kind)->wide;
}

bool jm__span_kind_is_container(jm_span_kind kind)
{
    return traits_of(kind)->role == CONTAINER;
}

bool jm__span_kind_is_layer(jm_span_kind kind)
{
    return traits_of(kind)->role == LAYER;
}

bool jm__span_kind_is_work(jm_span_kind kind)
{
    return traits_of(kind)->role == LAYER || traits_of(kind)->role == WORK;
}

bool jm__span_kind_is_range(jm_span_kind kind)
{
    return kind == JM_SPAN_NVTX || kind == JM_SPAN_CARRIED;
}
