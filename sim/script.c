/* The power script: read, sorted into beginnings and ends, played onto boards. */
#include "script.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX  1000000
#define BOARDS_MAX 16
#define FIELDS_MAX 5

typedef struct edge {
    int64_t t_ns; /* from the epoch */
    uint32_t segment;
    bool begins;
} edge;

typedef struct segment {
    int64_t start_ns;
    int64_t end_ns;
    sim_load load;
    int board;
} segment;

/* Where a board stands in the script. */
typedef struct cursor {
    size_t edge;
    int64_t round;
    uint32_t active[SIM_LOADS];
    int active_count;
} cursor;

struct sim_script {
    segment *segments;
    size_t segment_count;
    size_t segment_size;
    edge *edges;
    size_t edge_count;
    int64_t repeat_ns; /* 0: once */
    int64_t end_ns;
    bool used[BOARDS_MAX]; /* there are segments for this board */
    cursor cursors[BOARDS_MAX];
};

static int compare_edges(const void *left, const void *right)
{
    const edge *a = left;
    const edge *b = right;
    if (a->t_ns != b->t_ns) return a->t_ns < b->t_ns ? -1 : 1;
    if (a->begins != b->begins) return a->begins ? 1 : -1; /* what ends makes room first */
    return a->segment < b->segment ? -1 : a->segment > b->segment;
}

static bool read_number(const char *text, double *value)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    while (isspace((unsigned char)*end))
        end++;
    return end != text && *end == '\0' && errno == 0 && *value > -1e7 && *value < 1e7;
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

static int split(char *line, char **fields)
{
    int count = 0;
    while (line != NULL && count < FIELDS_MAX)
        fields[count++] = trim(strsep(&line, ","));
    return line == NULL ? count : FIELDS_MAX + 1;
}

/* NULL or what is wrong with the line. */
static const char *read_line(sim_script *script, char *line, sim_labels *labels, bool first)
{
    char *fields[FIELDS_MAX];
    int count = split(line, fields);
    double start_s, end_s, power_w, board = 0;
    if (strcmp(fields[0], "repeat") == 0) {
        if (count != 2 || !read_number(fields[1], &end_s) || end_s <= 0)
            return "repeat wants a period above 0";
        script->repeat_ns = (int64_t)(end_s * 1e9);
        return NULL;
    }
    if (first && strcmp(fields[0], "t_start_s") == 0) return NULL;
    if (count < 3 || count > FIELDS_MAX) return "a segment has three to five fields";
    if (!read_number(fields[0], &start_s) || !read_number(fields[1], &end_s) ||
        !read_number(fields[2], &power_w))
        return "start, end and power must be numbers";
    if (count == 5 && fields[4][0] != '\0' && !read_number(fields[4], &board))
        return "the board must be a number";
    if (start_s < 0 || end_s <= start_s || power_w < 0)
        return "a segment must end after it starts, both from 0 on";
    if (board < 0 || board >= BOARDS_MAX) return "there is no such board";
    if (script->segment_count == script->segment_size) {
        size_t size = script->segment_size == 0 ? 256 : script->segment_size * 2;
        segment *grown = realloc(script->segments, size * sizeof *grown);
        if (grown == NULL) return "out of memory";
        script->segments = grown;
        script->segment_size = size;
    }
    const char *name = count >= 4 && fields[3][0] != '\0' ? fields[3] : "(unnamed)";
    uint32_t label = sim_label_intern(labels, name, "", "script");
    if (label == UINT32_MAX) return "out of memory";
    script->segments[script->segment_count++] =
        (segment){(int64_t)(start_s * 1e9), (int64_t)(end_s * 1e9), {label, power_w}, (int)board};
    return NULL;
}

static const char *sort_edges(sim_script *script)
{
    if (script->segment_count == 0) return "no segment";
    script->edges = malloc(2 * script->segment_count * sizeof *script->edges);
    if (script->edges == NULL) return "out of memory";
    for (size_t i = 0; i < script->segment_count; i++) {
        const segment *from = &script->segments[i];
        script->edges[script->edge_count++] = (edge){from->start_ns, (uint32_t)i, true};
        script->edges[script->edge_count++] = (edge){from->end_ns, (uint32_t)i, false};
        if (from->end_ns > script->end_ns) script->end_ns = from->end_ns;
        script->used[from->board] = true;
    }
    qsort(script->edges, script->edge_count, sizeof *script->edges, compare_edges);
    if (script->repeat_ns > 0 && script->repeat_ns < script->end_ns)
        return "repeat is shorter than the script";
    return NULL;
}

sim_script *sim_script_open(const char *path, sim_labels *labels, char *why, size_t why_size)
{
    FILE *in = fopen(path, "re");
    if (in == NULL) {
        snprintf(why, why_size, "power script %s: %s", path, strerror(errno));
        return NULL;
    }
    sim_script *script = calloc(1, sizeof *script);
    const char *wrong = script == NULL ? "out of memory" : NULL;
    char line[1024];
    int number = 0;
    while (wrong == NULL && fgets(line, sizeof line, in) != NULL) {
        number++;
        char *text = trim(line);
        if (strlen(line) == sizeof line - 1 || number > LINES_MAX)
            wrong = "too long";
        else if (text[0] != '\0' && text[0] != '#')
            wrong = read_line(script, text, labels, number == 1);
    }
    if (wrong == NULL && ferror(in)) wrong = "cannot be read";
    fclose(in);
    if (wrong == NULL) wrong = sort_edges(script);
    if (wrong != NULL) {
        snprintf(why, why_size, "power script %s, line %d: %s", path, number, wrong);
        sim_script_close(script);
        return NULL;
    }
    return script;
}

void sim_script_close(sim_script *script)
{
    if (script == NULL) return;
    free(script->segments);
    free(script->edges);
    free(script);
}

static void pass_edge(const sim_script *script, sim_board *board, cursor *at, const edge *one)
{
    if (one->begins) {
        if (at->active_count == SIM_LOADS) {
            board->power.loads_left_out++;
            return;
        }
        at->active[at->active_count++] = one->segment;
        sim_power_call(&board->power, script->segments[one->segment].load.label);
        return;
    }
    for (int i = 0; i < at->active_count; i++)
        if (at->active[i] == one->segment) at->active[i--] = at->active[--at->active_count];
}

void sim_script_drive(sim_script *script, sim_board *board, int64_t t_ns)
{
    cursor *at = &script->cursors[board->index];
    for (;;) {
        if (at->edge == script->edge_count) {
            if (script->repeat_ns == 0) break;
            at->edge = 0;
            at->round++;
        }
        int64_t origin_ns = board->epoch_ns + at->round * script->repeat_ns;
        int64_t edge_ns = origin_ns + script->edges[at->edge].t_ns;
        if (edge_ns > t_ns) break;
        sim_board_advance(board, edge_ns);
        while (at->edge < script->edge_count && origin_ns + script->edges[at->edge].t_ns == edge_ns) {
            const edge *one = &script->edges[at->edge++];
            if (script->segments[one->segment].board == board->index) pass_edge(script, board, at, one);
        }
        sim_load loads[SIM_LOADS];
        for (int i = 0; i < at->active_count; i++)
            loads[i] = script->segments[at->active[i]].load;
        /* The program's context lives from the first segment to the last, on the boards that it uses. */
        bool alive = script->repeat_ns > 0 || edge_ns < origin_ns + script->end_ns;
        bool context = alive && script->used[board->index];
        sim_board_load(board, loads, at->active_count, context);
    }
    sim_board_advance(board, t_ns);
}
