/* Quantities and responses as text; a board of which nothing is known, and which boards are a CPU's. */
#include "format/rows/rows.h"

#include <math.h>
#include <string.h>

const jm_board jm__board_blank = {
    .index = -1,
    .cuda_index = -1,
    .power_limit_w = NAN,
    .power_limit_min_w = NAN,
    .power_limit_max_w = NAN,
    .clock_limit_mhz = NAN,
};

bool jm__board_is_cpu(const jm_board *board)
{
    return strcmp(board->backend, "rapl") == 0;
}

static const struct {
    const char *text, *unit;
} quantities[JM_QUANTITY_COUNT] = {
#define X(name, text, unit) {text, unit},
    JM_QUANTITY_MAP(X)
#undef X
};

static const char *const responses[JM_RESPONSE_COUNT] = {
#define X(name, text) text,
    JM_RESPONSE_MAP(X)
#undef X
};

const char *jm_quantity_text(jm_quantity quantity)
{
    return (unsigned)quantity < JM_QUANTITY_COUNT ? quantities[quantity].text : "unknown";
}

const char *jm_quantity_unit(jm_quantity quantity)
{
    return (unsigned)quantity < JM_QUANTITY_COUNT ? quantities[quantity].unit : "";
}

const char *jm_response_text(jm_response response)
{
    return (unsigned)response < JM_RESPONSE_COUNT ? responses[response] : "unknown";
}
