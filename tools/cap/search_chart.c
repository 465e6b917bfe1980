/* The objective over the cap in dots of Braille, tried caps as o, the choice as X. */
#include "cap/search_chart.h"

#include "base/plain.h"
#include "cap/same.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 8, MOST_COLUMNS = 56, LEAST_COLUMNS = 20, MARGIN = 10, DOTS_DOWN = 4, DOTS_ACROSS = 2 };

/* Far above the least the curve leaves the picture: what matters is below. */
static const double highest_share = 1.35;

typedef struct chart {
    const jm_cap_prediction *all;
    size_t count;
    jm_cap_objective objective;
    size_t columns;
    double least, most;                     /* shares of the reference's, at bottom and top */
    unsigned char dots[ROWS][MOST_COLUMNS]; /* Braille's bits */
    char marks[ROWS][MOST_COLUMNS];         /* 0: none */
} chart;

static double share_of(const chart *c, size_t cap)
{
    return c->all[cap].relative[c->objective].value;
}

/* Between the caps in straight lines. */
static double share_at(const chart *c, double cap_w)
{
    size_t i = 1;
    while (i + 1 < c->count && c->all[i].cap_w < cap_w)
        i++;
    double from_w = c->all[i - 1].cap_w, weight = (cap_w - from_w) / (c->all[i].cap_w - from_w);
    return share_of(c, i - 1) + weight * (share_of(c, i) - share_of(c, i - 1));
}

/* Counted from the top in dots; beyond the picture: negative. */
static int line_of(const chart *c, double share)
{
    double place = (c->most - share) / (c->most - c->least) * (ROWS * DOTS_DOWN - 1);
    return share > c->most ? -1 : (int)lround(fmin(place, ROWS * DOTS_DOWN - 1));
}

static void set_dot(chart *c, int line, size_t across)
{
    static const unsigned char bits[DOTS_DOWN][DOTS_ACROSS] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (line < 0) return;
    c->dots[line / DOTS_DOWN][across / DOTS_ACROSS] |= bits[line % DOTS_DOWN][across % DOTS_ACROSS];
}

/* Steep pieces are drawn through. */
static void draw(chart *c)
{
    double low_w = c->all[0].cap_w, width_w = c->all[c->count - 1].cap_w - low_w;
    size_t dots = c->columns * DOTS_ACROSS;
    int before = -1;
    for (size_t x = 0; x < dots; x++) {
        int line = line_of(c, share_at(c, low_w + width_w * (double)x / (double)(dots - 1)));
        set_dot(c, line, x);
        for (int between = before + 1; before >= 0 && between < line; between++)
            set_dot(c, between, x);
        for (int between = line + 1; line >= 0 && between < before; between++)
            set_dot(c, between, x);
        before = line;
    }
}

static void mark(chart *c, double chosen_w)
{
    double low_w = c->all[0].cap_w, width_w = c->all[c->count - 1].cap_w - low_w;
    for (size_t i = 0; i < c->count; i++) {
        bool chosen = jm__cap_same(c->all[i].cap_w, chosen_w);
        int line = line_of(c, share_of(c, i));
        if (line < 0 || (c->all[i].probes == 0 && !chosen)) continue;
        size_t column = (size_t)lround((c->all[i].cap_w - low_w) / width_w * (double)(c->columns - 1));
        char *at = &c->marks[line / DOTS_DOWN][column];
        if (*at != 'X') *at = chosen ? 'X' : 'o';
    }
}

static void find_range(chart *c)
{
    c->least = INFINITY;
    c->most = 0;
    for (size_t i = 0; i < c->count; i++) {
        c->least = fmin(c->least, share_of(c, i));
        c->most = fmax(c->most, share_of(c, i));
    }
    c->most = fmin(c->most, fmax(1, c->least) * highest_share);
    double air = fmax(.02, .05 * (c->most - c->least));
    c->least -= air;
    c->most += air;
}

static void add_cell(jm__strbuf *out, const chart *c, int row, size_t column)
{
    unsigned char dots = c->dots[row][column];
    if (c->marks[row][column] != 0)
        jm__strbuf_format(out, "%c", c->marks[row][column]);
    else if (dots == 0)
        jm__strbuf_add(out, " ");
    else
        jm__strbuf_format(out, "\xe2%c%c", 0xa0 + (dots >> 6), 0x80 + (dots & 0x3f));
}

static void add_row(jm__strbuf *out, const chart *c, int row)
{
    double share = c->most - (c->most - c->least) * (row * DOTS_DOWN + 1.5) / (ROWS * DOTS_DOWN - 1);
    size_t last = c->columns;
    while (last > 0 && c->dots[row][last - 1] == 0 && c->marks[row][last - 1] == 0)
        last--;
    if (row % 2 == 0)
        jm__strbuf_format(out, "  %4.0f %% ┤", 100 * share);
    else
        jm__strbuf_add(out, "         │");
    for (size_t column = 0; column < last; column++)
        add_cell(out, c, row, column);
    jm__strbuf_add(out, "\n");
}

void jm__cap_chart_add(jm__strbuf *out, const jm_cap_search *search, const jm__cap_result *result,
                       size_t width)
{
    chart c = {.all = result->all, .count = result->count, .objective = search->plan->options.objective};
    if (c.count < 3 || (width > 0 && width < MARGIN + LEAST_COLUMNS)) return;
    c.columns = width == 0 || width > MARGIN + MOST_COLUMNS ? MOST_COLUMNS : width - MARGIN;
    find_range(&c);
    draw(&c);
    mark(&c, result->found.choice.cap_w);
    jm__strbuf_format(out, "\n%s in percent of that at %g W; o was tried, X is the choice\n",
                      jm__cap_objective_title(c.objective), result->found.choice.reference_w);
    for (int row = 0; row < ROWS; row++)
        add_row(out, &c, row);
    char low[24], high[24];
    jm__print(low, sizeof low, "%.4g W", c.all[0].cap_w);
    jm__print(high, sizeof high, "%.4g W", c.all[c.count - 1].cap_w);
    jm__strbuf_format(out, "          %s%*s\n", low, (int)(c.columns - strlen(low)), high);
}
