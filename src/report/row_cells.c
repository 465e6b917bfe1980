/* The cells of a table of rows. */
#include "report/row_cells.h"

#include "base/plain.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void write_members(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    snprintf(out, JM_CELL, "%zu", part->members);
}

/* Of one member: equal layers are called equally often. */
static void write_calls(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    if (part->sum.calls == 0)
        snprintf(out, JM_CELL, "-"); /* idle time is not called */
    else
        jm__format_count(out, llround((double)part->sum.calls / (double)part->members));
}

static void write_tokens(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    if (part->sum.tokens > 0)
        jm__format_count(out, part->sum.tokens);
    else
        snprintf(out, JM_CELL, "-");
}

static void write_per_token(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    out[0] = '\0';
    if (part->sum.tokens <= 0) return;
    double energy_j = part->sum.energy_j / (double)part->sum.tokens;
    const jm__energy_scale own = jm__energy_scale_for(energy_j);
    char value[JM_CELL];
    jm__format_scaled(value, energy_j, &own);
    snprintf(out, JM_CELL, "%.20s %s", value, own.unit);
}

static void write_time(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    jm__format_time(out, part->sum.busy_s > 0 ? part->sum.busy_s : NAN);
}

static void write_energy(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    jm__format_scaled(out, part->sum.energy_j, scale);
}

static void write_half(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    jm__format_half(out, part->sum.energy_j, part->sum.energy_low_j, part->sum.energy_high_j);
}

static void write_power(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    jm__format_power(out, part->sum.power_w);
}

static void write_share(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    jm__format_share(out, part->sum.share);
}

static void write_known(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    snprintf(out, JM_CELL, "%s", jm_provenance_text(part->sum.provenance));
}

static void write_each(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    jm__format_time(out, part->sum.calls > 0 ? part->sum.busy_s / (double)part->sum.calls : NAN);
}

static void write_percent(char out[JM_CELL], double share)
{
    if (isfinite(share))
        jm__print(out, JM_CELL, "%.0f %%", 100 * share);
    else
        out[0] = '\0'; /* nothing to say: an optimizer has no passes */
}

static void write_forward(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    write_percent(out, part->sum.forward_share);
}

static void write_backward(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    write_percent(out, part->sum.backward_share);
}

bool jm__row_is_pause(const jm_row *row)
{
    return strcmp(row->kind, "idle") == 0 || strcmp(row->kind, "gap") == 0;
}

const char *jm__row_place(const jm_row *row)
{
    static const double most = 0.5;
    return row->mostly_at != NULL && row->mostly_share >= most ? row->mostly_at : NULL;
}

bool jm__row_has_layer(const jm_row *row)
{
    const char *place = jm__row_place(row);
    return place != NULL && place[0] != '(';
}

static void add_place(jm__strbuf *out, const char *place, size_t columns)
{
    static const char back[] = " (backward)";
    jm__strbuf plain = {0};
    jm__utf8_add(&plain, place, true);
    bool is_back =
        plain.length >= sizeof back && strcmp(plain.text + plain.length - sizeof back + 1, back) == 0;
    if (is_back) plain.text[plain.length - sizeof back + 1] = '\0';
    const char *path = plain.text != NULL ? plain.text : "";
    while (jm__utf8_columns(path) > columns && strchr(path, '.') != NULL)
        path = strchr(path, '.') + 1;
    jm__utf8_add_head(out, path, columns);
    if (is_back) jm__strbuf_add(out, " bwd");
    out->failed = out->failed || plain.failed;
    jm__strbuf_free(&plain);
}

bool jm__row_write_place(char *out, size_t size, const jm_row *row, size_t columns)
{
    bool fits = false, failed = false;
    out[0] = '\0';
    for (; !fits && !failed && columns > 0; columns--) { /* a character takes up to four bytes */
        jm__strbuf text = {0};
        add_place(&text, jm__row_place(row), columns);
        failed = text.failed;
        fits = !failed && text.length < size;
        if (fits) memcpy(out, text.text, text.length + 1);
        jm__strbuf_free(&text);
    }
    return !failed;
}

/* "layer.*.ffn bwd 62 %" */
static bool write_mostly(char out[JM_CELL], const jm__part *part)
{
    enum { PATH = 22 };
    static const char widest[] = " 100 %";
    out[0] = '\0';
    if (jm__row_place(&part->sum) == NULL || jm__row_is_pause(&part->sum)) return true;
    if (!jm__row_write_place(out, JM_CELL - sizeof widest + 1, &part->sum, PATH)) return false;
    size_t used = strlen(out);
    jm__print(out + used, JM_CELL - used, " %.0f %%", 100 * part->sum.mostly_share);
    return true;
}

typedef enum when {
    ALWAYS,
    SOME_ARE_SEVERAL,
    SOME_GO_BOTH_WAYS,
    SOME_ARE_SOMEWHERE,
    BY_KERNEL,
    BY_REQUEST
} when;

/* The columns after the name, in order: a new one is a line here and its function. */
static const struct {
    jm__table_column shape;
    void (*write)(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale);
    when when;
    bool adds_up;                                                /* can be said of several rows together */
    bool is_energy;                                              /* its title is the unit */
    bool (*write_text)(char out[JM_CELL], const jm__part *part); /* in place of `write`; false: no memory */
} columns[] = {
    {.shape = {"x", false, 0}, write_members, SOME_ARE_SEVERAL},
    {.shape = {"calls", false, 3}, write_calls, ALWAYS},
    {.shape = {"each", false, 0}, write_each, BY_KERNEL},
    {.shape = {"time", false, 5}, write_time, ALWAYS},
    {.shape = {"energy", false, 0}, write_energy, ALWAYS, .adds_up = true, .is_energy = true},
    {.shape = {"\302\261", false, 0}, write_half, ALWAYS},
    {.shape = {"tokens", false, 0}, write_tokens, BY_REQUEST},
    {.shape = {"a token", false, 0}, write_per_token, BY_REQUEST},
    {.shape = {"power", false, 6}, write_power, ALWAYS},
    {.shape = {"share", false, 1}, write_share, ALWAYS, .adds_up = true},
    {.shape = {"fwd", false, 4}, write_forward, SOME_GO_BOTH_WAYS},
    {.shape = {"bwd", false, 4}, write_backward, SOME_GO_BOTH_WAYS},
    {.shape = {"mostly in", true, 4}, .write_text = write_mostly, .when = SOME_ARE_SOMEWHERE},
    {.shape = {"known", true, 2}, write_known, ALWAYS},
};
enum { COLUMNS = sizeof columns / sizeof *columns };
_Static_assert((int)COLUMNS <= (int)JM_TABLE_COLUMNS, "a table has room for its columns");

/* Rows of one pass alone, as of `--by type`, have its name: shares of 0 and 100 % say nothing beside it. */
static const double least_share = 0.005;

void jm__row_traits_see(jm__row_traits *traits, const jm__part *part)
{
    const jm_row *row = &part->sum;
    traits->several = traits->several || part->members > 1;
    bool both = row->backward_share > least_share && row->backward_share < 1 - least_share;
    traits->goes_both_ways = traits->goes_both_ways || both;
    traits->somewhere = traits->somewhere || (jm__row_has_layer(row) && !jm__row_is_pause(row));
}

static bool is_shown(const jm__row_traits *traits, size_t column)
{
    switch (columns[column].when) {
    case SOME_ARE_SEVERAL:
        return traits->several;
    case SOME_GO_BOTH_WAYS:
        return traits->goes_both_ways && !traits->by_kernel;
    case SOME_ARE_SOMEWHERE:
        return traits->somewhere;
    case BY_KERNEL:
        return traits->by_kernel;
    case BY_REQUEST:
        return traits->by_request;
    case ALWAYS:
        break;
    }
    return true;
}

void jm__row_columns(jm__table *table, const jm__row_traits *traits, const char *unit)
{
    for (size_t c = 0; c < COLUMNS; c++) {
        if (!is_shown(traits, c)) continue;
        jm__table_column *column = &table->columns[table->column_count++];
        *column = columns[c].shape;
        if (columns[c].is_energy) snprintf(column->title, sizeof column->title, "%s", unit);
    }
}

bool jm__row_cells(char cells[][JM_CELL], const jm__row_traits *traits, const jm__part *part,
                   const jm__energy_scale *scale, bool sums_alone)
{
    size_t written = 0;
    for (size_t c = 0; c < COLUMNS; c++) {
        if (!is_shown(traits, c)) continue;
        char *cell = cells[written++];
        if (sums_alone && !columns[c].adds_up) continue;
        if (columns[c].write_text == NULL)
            columns[c].write(cell, part, scale);
        else if (!columns[c].write_text(cell, part))
            return false;
    }
    return true;
}
