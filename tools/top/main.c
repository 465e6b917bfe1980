/* joulemap-top: the live screen in a terminal. Sensors and processes are read between keys; reports of
 * programs that are being recorded by a thread of their own. */
#include "cli/verb.h"

#include <ctype.h>
#include <curses.h>
#include <dirent.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TOP_BOARDS = 64, TOP_HISTORY = 1024, TOP_PROCESSES = 256, TOP_ROWS = 400, TOP_RECORDINGS = 8 };

typedef struct top_board {
    const jm_board *board;
    jm_board_state state;
    double energy_j;            /* since the first reading */
    double counted_j;           /* the counter's last value; NAN: none yet */
    float history[TOP_HISTORY]; /* a ring of watts; NAN: unknown */
} top_board;

typedef struct top_process {
    int32_t pid;
    uint64_t boards; /* a bit for each */
    char command[256];
    double cpu_percent; /* of one core; NAN: not known yet */
    double cpu_s;
    int64_t resident_bytes;
} top_process;

/* A row of a list. */
typedef struct top_row {
    char text[400];
} top_row;

typedef struct top_watched {
    jm_inventory *inventory;
    top_board boards[TOP_BOARDS];
    size_t board_count, gpu_count;
    uint64_t readings; /* the next place of the rings is readings % TOP_HISTORY */
    int64_t first_ns, last_ns;
    top_process processes[TOP_PROCESSES];
    size_t process_count;
    /* Of a thread of their own, as a report takes time; under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t stop;
    pthread_t thread;
    bool threaded, stopping;
    top_row rows[TOP_ROWS];
    size_t row_count;
    char problem[160]; /* why a recording has no rows; "": none */
} top_watched;

/* "98%", or nothing where it is unknown. */
static const char *figure(char out[16], int decimals, double value, const char *unit)
{
    out[0] = '\0';
    if (isfinite(value)) snprintf(out, 16, "%.*f%s", decimals, value, unit);
    return out;
}

/* ---- processes, by /proc */

/* A file of /proc/PID as text with its zeros as spaces; its length. */
static size_t read_proc(char *text, size_t size, int32_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, size - 1) : 0;
    if (file >= 0) close(file);
    text[length > 0 ? length : 0] = '\0';
    for (ssize_t i = 0; i < length; i++)
        if (text[i] == '\0') text[i] = ' ';
    return length > 0 ? (size_t)length : 0;
}

/* utime, stime and rss of /proc/PID/stat, whose second field may hold anything in brackets. */
static void read_stat(top_process *process)
{
    char text[1024];
    unsigned long long utime, stime;
    long long rss;
    if (read_proc(text, sizeof text, process->pid, "stat") == 0) return;
    const char *end = strrchr(text, ')');
    if (end == NULL || sscanf(end + 1,
                              " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d "
                              "%*d %*u %*u %lld",
                              &utime, &stime, &rss) != 3)
        return;
    process->cpu_s = (double)(utime + stime) / (double)sysconf(_SC_CLK_TCK);
    process->resident_bytes = rss * sysconf(_SC_PAGESIZE);
}

static top_process *find_process(top_process *processes, size_t count, int32_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (processes[i].pid == pid) return &processes[i];
    return NULL;
}

static void read_processes(top_watched *w, double seconds)
{
    static top_process before[TOP_PROCESSES];
    size_t before_count = w->process_count;
    memcpy(before, w->processes, before_count * sizeof *before);
    w->process_count = 0;
    for (size_t b = 0; b < w->board_count; b++) {
        const jm_board_state *state = &w->boards[b].state;
        for (size_t i = 0; i < state->process_count; i++) {
            top_process *one = find_process(w->processes, w->process_count, state->pids[i]);
            if (one == NULL && w->process_count == TOP_PROCESSES) return;
            if (one == NULL) {
                one = &w->processes[w->process_count++];
                *one = (top_process){.pid = state->pids[i], .command = "(in a container)"};
                char command[256];
                if (read_proc(command, sizeof command, one->pid, "cmdline") > 0)
                    jm_text_printable(one->command, sizeof one->command, command);
                read_stat(one);
                const top_process *old = find_process(before, before_count, one->pid);
                one->cpu_percent =
                    old != NULL && seconds > 0 ? 100 * (one->cpu_s - old->cpu_s) / seconds : NAN;
            }
            one->boards |= UINT64_C(1) << b;
        }
    }
}

/* ---- boards */

static double top_power_w(const top_board *board, uint64_t readings, uint64_t back)
{
    if (back >= TOP_HISTORY || back >= readings) return NAN;
    return (double)board->history[(readings - 1 - back) % TOP_HISTORY];
}

/* A CPU has no power sensor: its power is the counter's change. */
static void read_board(top_watched *w, size_t b, double seconds)
{
    top_board *one = &w->boards[b];
    jm_error err;
    if (jm_inventory_state(w->inventory, b, &one->state, &err) != JM_OK) return;
    jm_board_state *state = &one->state;
    double change_j = state->energy_j - one->counted_j;
    if (isnan(state->power_w) && change_j >= 0 && seconds > 0) state->power_w = change_j / seconds;
    if (change_j >= 0)
        one->energy_j += change_j;
    else if (isnan(change_j) && !isnan(state->power_w) && isnan(one->counted_j))
        one->energy_j += isnan(state->energy_j) ? state->power_w * seconds : 0;
    if (!isnan(state->energy_j)) one->counted_j = state->energy_j;
    one->history[w->readings % TOP_HISTORY] = (float)state->power_w;
}

static void top_watched_read(top_watched *w)
{
    int64_t now_ns = jm_now_ns();
    double seconds = w->readings > 0 ? (double)(now_ns - w->last_ns) * 1e-9 : 0;
    for (size_t b = 0; b < w->board_count; b++)
        read_board(w, b, seconds);
    read_processes(w, seconds);
    if (w->readings == 0) w->first_ns = now_ns;
    w->last_ns = now_ns;
    w->readings++;
}

/* ---- recordings in progress: files that recorders hold open */

/* Add the recordings that a process has open. */
static size_t add_open_recordings(char paths[][PATH_MAX], size_t count, int32_t pid)
{
    char folder[64], link[400], path[PATH_MAX];
    snprintf(folder, sizeof folder, "/proc/%d/fd", pid);
    DIR *files = opendir(folder);
    for (const struct dirent *one; files != NULL && (one = readdir(files)) != NULL;) {
        static const char ending[] = ".joulemap";
        snprintf(link, sizeof link, "%s/%s", folder, one->d_name);
        ssize_t length = readlink(link, path, sizeof path - 1);
        if (length < (ssize_t)sizeof ending) continue;
        path[length] = '\0';
        bool known = strcmp(path + length + 1 - sizeof ending, ending) != 0;
        for (size_t i = 0; i < count && !known; i++)
            known = strcmp(paths[i], path) == 0;
        if (!known && count < TOP_RECORDINGS) strcpy(paths[count++], path);
    }
    if (files != NULL) closedir(files);
    return count;
}

/* Only of recorders: a program that reads a recording has it open too. */
static bool is_recorder(int32_t pid)
{
    char name[64];
    read_proc(name, sizeof name, pid, "comm");
    return pid != getpid() && (strncmp(name, "joulemap", 8) == 0 || strncmp(name, "python", 6) == 0);
}

static size_t find_recordings(char paths[][PATH_MAX])
{
    size_t count = 0;
    DIR *proc = opendir("/proc");
    for (const struct dirent *one; proc != NULL && (one = readdir(proc)) != NULL;)
        if (isdigit((unsigned char)one->d_name[0]) && is_recorder(atoi(one->d_name)))
            count = add_open_recordings(paths, count, atoi(one->d_name));
    if (proc != NULL) closedir(proc);
    return count;
}

static void add_row(top_row *rows, size_t *count, int depth, const char *name, double power_w, double share)
{
    char watts[16], part[16], printable[256];
    if (*count == TOP_ROWS) return;
    snprintf(rows[(*count)++].text, sizeof rows->text, "%9s %7s  %*s%s", figure(watts, 1, power_w, ""),
             figure(part, 1, 100 * share, "%"), 2 * depth, "",
             jm_text_printable(printable, sizeof printable, name));
}

/* Layers and what else has watts in the last half minute, equal layers as one. */
static jm_status add_report(top_row *rows, size_t *count, jm_recording *recording, jm_by by, jm_error *err)
{
    static const int64_t interval_ns = 30000000000, late_ns = 1000000000;
    static const double least_share = 0.001;
    int64_t to_ns = jm_now_ns() - late_ns;
    const jm_report_options options = {
        .size = sizeof options, .by = by, .from_ns = to_ns - interval_ns, .to_ns = to_ns};
    jm_report *report;
    jm_groups *groups;
    jm_status status = jm_report_create(&report, recording, &options, err);
    if (status != JM_OK) return status;
    const jm_report_totals *totals = jm_report_totals_get(report);
    status = jm_groups_create(&groups, report, err);
    for (size_t g = 0; status == JM_OK && g < jm_group_count(groups); g++) {
        const jm_group *group = jm_group_get(groups, g);
        if (!(group->share >= least_share)) continue;
        char name[256];
        snprintf(name, sizeof name, "%s%s", by == JM_BY_PHASE && group->depth == 0 ? "phase " : "",
                 group->name);
        add_row(rows, count, 1 + group->depth, name, group->energy_j / totals->duration_s, group->share);
    }
    if (status == JM_OK) jm_groups_free(groups);
    jm_report_free(report);
    return status;
}

static void read_recording(top_row *rows, size_t *count, char *problem, size_t size, const char *path)
{
    jm_error err;
    jm_recording *recording;
    const char *name = strrchr(path, '/');
    add_row(rows, count, 0, name != NULL ? name + 1 : path, NAN, NAN);
    jm_status status = jm_recording_open(&recording, path, &err);
    if (status == JM_OK) {
        status = add_report(rows, count, recording, JM_BY_LAYER, &err);
        if (status == JM_OK) status = add_report(rows, count, recording, JM_BY_PHASE, &err);
        jm_recording_close(recording);
    }
    if (status != JM_OK) jm_text_printable(problem, size, err.text);
}

/* Reports cost a tenth of a core at most, at low priority. */
static void *watch_recordings(void *context)
{
    static const double least_wait_s = 5, cost_share = 0.1;
    static char paths[TOP_RECORDINGS][PATH_MAX];
    static top_row rows[TOP_ROWS];
    top_watched *w = context;
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
    for (bool stopping = false; !stopping;) {
        int64_t begin_ns = jm_now_ns();
        char problem[160] = "";
        size_t count = 0, recordings = find_recordings(paths);
        for (size_t i = 0; i < recordings; i++)
            read_recording(rows, &count, problem, sizeof problem, paths[i]);
        double wait_s = fmax(least_wait_s, (double)(jm_now_ns() - begin_ns) * 1e-9 / cost_share);
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += (time_t)wait_s;
        pthread_mutex_lock(&w->lock);
        memcpy(w->rows, rows, count * sizeof *rows);
        w->row_count = count;
        memcpy(w->problem, problem, sizeof problem);
        if (!w->stopping) pthread_cond_timedwait(&w->stop, &w->lock, &until);
        stopping = w->stopping;
        pthread_mutex_unlock(&w->lock);
    }
    return NULL;
}

static void top_watched_begin(top_watched *w, jm_inventory *inventory)
{
    *w = (top_watched){.inventory = inventory, .board_count = jm_inventory_board_count(inventory)};
    if (w->board_count > TOP_BOARDS) w->board_count = TOP_BOARDS;
    for (size_t b = 0; b < w->board_count; b++) {
        w->boards[b].board = jm_inventory_board(inventory, b);
        w->boards[b].counted_j = NAN;
        w->gpu_count += jm_board_kind_of(w->boards[b].board) == JM_BOARD_GPU;
    }
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->stop, NULL);
    w->threaded = pthread_create(&w->thread, NULL, watch_recordings, w) == 0;
}

static void top_watched_end(top_watched *w)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_signal(&w->stop);
    pthread_mutex_unlock(&w->lock);
    /* A long report ends with the process. */
    if (w->threaded && pthread_timedjoin_np(w->thread, NULL, &until) != 0) return;
    pthread_cond_destroy(&w->stop);
    pthread_mutex_destroy(&w->lock);
}

/* ---- the screen */

enum { LEAST_ROWS = 10, LEAST_COLUMNS = 40 };

typedef enum list_kind { LIST_PROCESSES, LIST_LAYERS, LIST_COUNT } list_kind;
typedef enum process_order { BY_GPU, BY_PID, BY_CPU, BY_MEMORY, ORDER_COUNT } process_order;
static const char *const order_names[] = {"GPU", "PID", "CPU%", "RES"};

/* What keys choose. */
typedef struct screen {
    top_watched *watched;
    list_kind list;
    process_order order;
    bool inverted, paused, helping, quit;
    int chart;           /* the board of the chart; -1: all GPUs */
    int selected, first; /* rows of the list */
    int shown;           /* rows that the list had */
    char filter[64];
    bool typing; /* the filter is being typed */
    bool wide;   /* the terminal draws UTF-8 */
} screen;

enum { PAIR_TITLE = 1, PAIR_LOW, PAIR_HIGH, PAIR_FULL, PAIR_BAR, PAIR_SELECTED };

static void put(int y, int x, int width, attr_t attributes, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Print at most `width` columns. */
static void put(int y, int x, int width, attr_t attributes, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (width <= 0 || y < 0 || y >= LINES || x >= COLS) return;
    attron(attributes);
    mvaddnstr(y, x, text, width < COLS - x ? width : COLS - x);
    attroff(attributes);
}

static void fill_row(int y, attr_t attributes)
{
    put(y, 0, COLS, attributes, "%*s", COLS < 500 ? COLS : 500, "");
}

static void energy_text(char out[24], double energy_j)
{
    static const char *const units[] = {"J", "kJ", "MJ", "GJ"};
    int unit = 0;
    for (; energy_j >= 1000 && unit < 3; unit++)
        energy_j /= 1000;
    snprintf(out, 24, "%.*f %s", energy_j < 10 ? 2 : energy_j < 100 ? 1 : 0, energy_j, units[unit]);
}

/* ---- the boards */

static double limit_of(const top_board *board)
{
    return isnan(board->state.power_limit_w) ? board->board->power_limit_w : board->state.power_limit_w;
}

static attr_t colour_of(double share)
{
    return (attr_t)COLOR_PAIR(share > 0.95 ? PAIR_FULL : share > 0.7 ? PAIR_HIGH : PAIR_LOW);
}

/* "[||||||      512/700W]" */
static void draw_meter(int y, int x, int width, const top_board *board)
{
    char text[64];
    double limit_w = limit_of(board), power_w = board->state.power_w;
    double share = power_w / limit_w;
    if (isfinite(limit_w))
        snprintf(text, sizeof text, "%.0f/%.0fW", power_w, limit_w);
    else
        snprintf(text, sizeof text, "%.1fW", power_w);
    int inside = width - 2, bars = isfinite(share) ? (int)lround(share * inside) : 0;
    int room = inside - (int)strlen(text);
    put(y, x, 1, A_BOLD, "[");
    for (int i = 0; i < inside; i++)
        put(y, x + 1 + i, 1, colour_of((double)i / inside), "%s", i < bars && i < room ? "|" : " ");
    put(y, x + 1 + (room > 0 ? room : 0), inside, A_BOLD, "%s", text);
    put(y, x + width - 1, 1, A_BOLD, "]");
}

static void draw_board(int y, int x, int width, const top_board *board, bool chosen)
{
    enum { SHORT = 12, LONG = 34, NAME = 24 };
    char label[32], util[16], heat[16], clock[16], energy[24];
    bool gpu = jm_board_kind_of(board->board) == JM_BOARD_GPU, wide = width >= 90;
    if (gpu)
        snprintf(label, sizeof label, "%3d", board->board->index);
    else
        snprintf(label, sizeof label, "%.9s", board->board->name);
    int x_meter = x + (gpu ? 4 : 10) + (wide ? NAME : 0);
    put(y, x, 10, chosen ? A_REVERSE : A_BOLD, "%s", label);
    if (wide) put(y, x + (gpu ? 4 : 10), NAME - 1, A_NORMAL, "%s", gpu ? board->board->name : "");
    int room = width - (x_meter - x);
    if (isnan(board->state.power_w)) {
        const char *why = board->state.problem[0] != '\0' ? board->state.problem : "no power yet";
        if (board->state.lost) why = "lost: it needs a reset, or is off the bus";
        put(y, x_meter, room, (attr_t)COLOR_PAIR(PAIR_FULL), "%s", why);
        return;
    }
    int rest = wide ? LONG : SHORT;
    draw_meter(y, x_meter, room - rest, board);
    energy_text(energy, board->energy_j);
    figure(util, 0, board->state.utilisation_percent, "%");
    figure(heat, 0, board->state.temperature_c, "C");
    figure(clock, 0, board->state.clock_mhz, "MHz");
    if (wide)
        put(y, x_meter + room - rest, rest, A_NORMAL, " %4s %4s %7s %10s", util, heat, clock, energy);
    else
        put(y, x_meter + room - rest, rest, A_NORMAL, " %4s %4s", util, heat);
}

/* In one column or two; the rows used. */
static int draw_boards(const screen *s, int y)
{
    const top_watched *w = s->watched;
    int count = (int)w->board_count, most = LINES / 2 - 3, columns = count > LINES / 3 && COLS >= 76 ? 2 : 1;
    int rows = (count + columns - 1) / columns;
    if (rows > most) rows = most;
    int shown = rows * columns < count ? rows * columns - 1 : count, width = COLS / columns;
    for (int i = 0; i < shown; i++)
        draw_board(y + i % rows, i / rows * width, width - (columns > 1), &w->boards[i], i == s->chart);
    if (shown < count) put(y + rows - 1, (columns - 1) * width, width, A_BOLD, " and %d more", count - shown);
    return rows;
}

/* ---- power over time */

static double chart_w(const screen *s, uint64_t back)
{
    const top_watched *w = s->watched;
    if (s->chart >= 0) return top_power_w(&w->boards[s->chart], w->readings, back);
    double sum_w = NAN;
    for (size_t b = 0; b < w->board_count; b++) {
        double power_w = top_power_w(&w->boards[b], w->readings, back);
        bool gpu = jm_board_kind_of(w->boards[b].board) == JM_BOARD_GPU || w->gpu_count == 0;
        if (gpu && isfinite(power_w)) sum_w = isnan(sum_w) ? power_w : sum_w + power_w;
    }
    return sum_w;
}

static void draw_chart(const screen *s, int y, int height, double delay_s)
{
    static const char *const eighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double most_w = 1;
    char what[JM_BOARD_TEXT + 24] = "all GPUs";
    if (s->watched->gpu_count == 0) snprintf(what, sizeof what, "all CPUs");
    for (int x = 0; x < COLS; x++)
        most_w = fmax(most_w, chart_w(s, (uint64_t)x));
    if (s->chart >= 0) {
        const jm_board *board = s->watched->boards[s->chart].board;
        snprintf(what, sizeof what, "%s%s", board->name,
                 jm_board_kind_of(board) == JM_BOARD_GPU ? ", GPU " : "");
        if (what[strlen(what) - 1] == ' ') snprintf(what + strlen(what), 12, "%d", board->index);
    }
    put(y, 0, COLS, A_BOLD, "power of %s, the last %.0f s, up to %.0f W", what, COLS * delay_s, most_w);
    for (int x = 0; x < COLS; x++) {
        double power_w = chart_w(s, (uint64_t)(COLS - 1 - x));
        int filled = isfinite(power_w) ? (int)lround(power_w / most_w * (height - 1) * 8) : 0;
        for (int row = 1; row < height; row++) {
            int part = filled - (height - 1 - row) * 8;
            part = part < 0 ? 0 : part > 8 ? 8 : part;
            put(y + row, x, 4, colour_of(0), "%s", s->wide ? eighths[part] : part >= 4 ? "#" : " ");
        }
    }
}

/* ---- the lists */

static int compare_processes(const void *left, const void *right, void *context)
{
    const screen *s = context;
    const top_process *a = left, *b = right;
    double by = 0;
    if (s->order == BY_GPU) by = (double)a->boards - (double)b->boards;
    if (s->order == BY_CPU) by = fmax(b->cpu_percent, 0) - fmax(a->cpu_percent, 0);
    if (s->order == BY_MEMORY) by = (double)(b->resident_bytes - a->resident_bytes);
    int order = by < 0 ? -1 : by > 0 ? 1 : a->pid - b->pid;
    return s->inverted ? -order : order;
}

static void write_boards(char *out, size_t size, const top_watched *w, uint64_t boards)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t b = 0; b < w->board_count && used + 6 < size; b++)
        if (boards >> b & 1)
            used += (size_t)snprintf(out + used, size - used, "%s%d", used > 0 ? "," : "",
                                     w->boards[b].board->index);
}

/* Returns the number of rows. */
static int write_processes(screen *s, top_row *rows, int most)
{
    static top_process sorted[TOP_PROCESSES];
    const top_watched *w = s->watched;
    int count = 0;
    memcpy(sorted, w->processes, w->process_count * sizeof *sorted);
    qsort_r(sorted, w->process_count, sizeof *sorted, compare_processes, s);
    for (size_t i = 0; i < w->process_count && count < most; i++) {
        char boards[24], cpu[16];
        write_boards(boards, sizeof boards, w, sorted[i].boards);
        snprintf(rows[count++].text, sizeof rows->text, "%8d %-8.8s %6s %7.0fM %s", sorted[i].pid, boards,
                 figure(cpu, 0, sorted[i].cpu_percent, ""), (double)sorted[i].resident_bytes / 1048576,
                 sorted[i].command);
    }
    return count;
}

/* Of layers, which a thread of their own writes. */
static int copy_layers(const screen *s, top_row *rows)
{
    pthread_mutex_lock(&s->watched->lock);
    int count = (int)s->watched->row_count;
    memcpy(rows, s->watched->rows, s->watched->row_count * sizeof *rows);
    pthread_mutex_unlock(&s->watched->lock);
    return count;
}

static int keep_matching(top_row *rows, int count, const char *filter)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (strcasestr(rows[i].text, filter) != NULL) rows[kept++] = rows[i];
    return kept;
}

static const char *empty_text(const screen *s, char *problem, size_t size)
{
    if (s->filter[0] != '\0') return "nothing matches the filter (F4)";
    if (s->list == LIST_PROCESSES)
        return s->watched->gpu_count > 0 ? "no process computes on a GPU"
                                         : "no GPU: `joulemap doctor` shows why, --sim h200 simulates one";
    pthread_mutex_lock(&s->watched->lock);
    snprintf(problem, size, "%s", s->watched->problem);
    pthread_mutex_unlock(&s->watched->lock);
    return problem[0] != '\0' ? problem : "no recording in progress; start one: joulemap run COMMAND";
}

static void draw_list(screen *s, int y, int height)
{
    static top_row rows[TOP_ROWS];
    static const char *const titles[] = {"     PID GPU        CPU%      RES COMMAND",
                                         "        W   share  LAYER OR PHASE, the last 30 s"};
    int count = s->list == LIST_PROCESSES ? write_processes(s, rows, TOP_ROWS) : copy_layers(s, rows);
    if (s->filter[0] != '\0') count = keep_matching(rows, count, s->filter);
    int room = height - 2;
    if (s->selected >= count) s->selected = count > 0 ? count - 1 : 0;
    if (s->selected < s->first) s->first = s->selected;
    if (s->selected >= s->first + room) s->first = s->selected - room + 1;
    s->shown = count;
    put(y, 0, 14, s->list == LIST_PROCESSES ? A_REVERSE : A_BOLD, "[ Processes ]");
    put(y, 14, 24, s->list == LIST_LAYERS ? A_REVERSE : A_BOLD, "[ Layers and phases ]");
    if (s->list == LIST_PROCESSES)
        put(y, 40, COLS - 40, A_NORMAL, "by %s%s", order_names[s->order], s->inverted ? ", inverted" : "");
    fill_row(y + 1, (attr_t)COLOR_PAIR(PAIR_TITLE));
    put(y + 1, 0, COLS, (attr_t)COLOR_PAIR(PAIR_TITLE), "%s", titles[s->list]);
    char problem[160];
    if (count == 0) put(y + 2, 0, COLS, A_NORMAL, "  %s", empty_text(s, problem, sizeof problem));
    for (int i = 0; i < room && s->first + i < count; i++) {
        bool chosen = s->first + i == s->selected;
        attr_t attributes = chosen ? (attr_t)COLOR_PAIR(PAIR_SELECTED) : A_NORMAL;
        if (chosen) fill_row(y + 2 + i, attributes);
        put(y + 2 + i, 0, COLS, attributes, "%s", rows[s->first + i].text);
    }
}

/* ---- the whole screen */

static void draw_head(const screen *s)
{
    const top_watched *w = s->watched;
    char host[65] = "", when[16], energy[24];
    double power_w = 0, limit_w = 0, energy_j = 0;
    time_t now = time(NULL);
    struct tm local;
    gethostname(host, sizeof host - 1);
    strftime(when, sizeof when, "%H:%M:%S", localtime_r(&now, &local));
    for (size_t b = 0; b < w->board_count; b++) {
        if (jm_board_kind_of(w->boards[b].board) != JM_BOARD_GPU && w->gpu_count > 0) continue;
        if (isfinite(w->boards[b].state.power_w)) power_w += w->boards[b].state.power_w;
        if (isfinite(limit_of(&w->boards[b]))) limit_w += limit_of(&w->boards[b]);
        energy_j += w->boards[b].energy_j;
    }
    energy_text(energy, energy_j);
    fill_row(0, (attr_t)COLOR_PAIR(PAIR_TITLE));
    char limit[32] = "";
    if (limit_w > 0) snprintf(limit, sizeof limit, " of %.0f", limit_w);
    put(0, 0, COLS, (attr_t)COLOR_PAIR(PAIR_TITLE),
        " joulemap top  %zu GPU%s %.0f%s W  %s in %.0f s  %s %.30s%s", w->gpu_count,
        w->gpu_count == 1 ? "" : "s", power_w, limit, energy, (double)(w->last_ns - w->first_ns) * 1e-9, when,
        host, s->paused ? "  PAUSED" : "");
}

static void draw_keys(const screen *s)
{
    static const char *const keys[][2] = {{"F1", "Help"}, {"Tab", "List"}, {"F4", "Filter"}, {"F6", "SortBy"},
                                          {"+-", "GPU"},  {"Z", "Pause"},  {"F10", "Quit"}};
    int x = 0;
    if (s->typing) {
        put(LINES - 1, 0, COLS, A_BOLD, "Filter: %s", s->filter);
        return;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        put(LINES - 1, x, 5, A_BOLD, "%s", keys[i][0]);
        x += (int)strlen(keys[i][0]);
        put(LINES - 1, x, 9, (attr_t)COLOR_PAIR(PAIR_BAR), "%-6s", keys[i][1]);
        x += 7;
    }
}

static void draw_help(void)
{
    static const char *const lines[] = {
        "Tab              processes, or layers and phases of programs being recorded",
        "Up Down PgUp PgDn Home End   move the selection",
        "F4 \\ or F3 /     filter: only rows with this text; Escape: all",
        "F6 >             sort processes by the next column",
        "N P M            sort by PID, CPU%, memory",
        "I                invert the order",
        "+ -              the GPU of the chart, or all",
        "Z                pause and go on",
        "F1 h ?           this help; any key closes it",
        "F10 q Ctrl-C     quit",
        "",
        "Watts of layers are means of the last 30 s. Nothing is set or signalled.",
    };
    put(0, 0, COLS, A_BOLD, "joulemap top: keys, as in htop");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        put((int)i + 2, 1, COLS - 1, A_NORMAL, "%s", lines[i]);
}

static void draw(screen *s, double delay_s)
{
    erase();
    if (LINES < LEAST_ROWS || COLS < LEAST_COLUMNS) {
        put(0, 0, COLS, A_BOLD, "at least %dx%d, please", LEAST_COLUMNS, LEAST_ROWS);
    } else if (s->helping) {
        draw_help();
    } else {
        int y = 1, chart = LINES / 5 < 4 ? 4 : LINES / 5;
        draw_head(s);
        y += draw_boards(s, y);
        if (LINES - y - chart >= 6) {
            draw_chart(s, y, chart, delay_s);
            y += chart;
        }
        draw_list(s, y, LINES - 1 - y);
        draw_keys(s);
    }
    refresh();
}

/* ---- keys */

static void type(screen *s, int key)
{
    size_t length = strlen(s->filter);
    if (key == 27) memset(s->filter, 0, sizeof s->filter);
    if ((key == KEY_BACKSPACE || key == 127 || key == 8) && length > 0) s->filter[length - 1] = '\0';
    if (key >= ' ' && key < 127 && length + 1 < sizeof s->filter) s->filter[length] = (char)key;
    s->typing = key != '\n' && key != '\r' && key != KEY_ENTER && key != 27;
}

static void begin_typing(screen *s, int value)
{
    s->typing = value;
}

static void order_by(screen *s, int order)
{
    s->order = order == ORDER_COUNT ? (s->order + 1) % ORDER_COUNT : (process_order)order;
    s->list = LIST_PROCESSES;
}

static void go(screen *s, int by)
{
    s->selected += by;
    if (s->selected >= s->shown) s->selected = s->shown - 1;
    if (s->selected < 0) s->selected = 0;
}

static void choose_chart(screen *s, int by)
{
    int count = (int)s->watched->board_count + 1; /* and all */
    s->chart = (s->chart + 1 + by + count) % count - 1;
}

static void change_list(screen *s, int by)
{
    s->list = (list_kind)(((int)s->list + by) % LIST_COUNT);
    s->selected = s->first = 0;
}

static void toggle(screen *s, int key)
{
    bool *flag = key == 'q' ? &s->quit : key == 'h' ? &s->helping : key == 'I' ? &s->inverted : &s->paused;
    *flag = !*flag;
}

enum { PAGE = 10, ALL = 100000 };

static const struct {
    int keys[4]; /* 0: no more */
    void (*act)(screen *s, int value);
    int value;
} actions[] = {
    {{'q', KEY_F(10), 3}, toggle, 'q'},
    {{'h', '?', KEY_F(1)}, toggle, 'h'},
    {{'I'}, toggle, 'I'},
    {{'Z'}, toggle, 'Z'},
    {{'\t'}, change_list, 1},
    {{KEY_UP}, go, -1},
    {{KEY_DOWN}, go, 1},
    {{KEY_PPAGE}, go, -PAGE},
    {{KEY_NPAGE}, go, PAGE},
    {{KEY_HOME}, go, -ALL},
    {{KEY_END}, go, ALL},
    {{'\\', '/', KEY_F(3), KEY_F(4)}, begin_typing, true},
    {{'>', '.', KEY_F(6)}, order_by, ORDER_COUNT},
    {{'N'}, order_by, BY_PID},
    {{'P'}, order_by, BY_CPU},
    {{'M'}, order_by, BY_MEMORY},
    {{'+'}, choose_chart, 1},
    {{'-'}, choose_chart, -1},
};

static void obey(screen *s, int key)
{
    if (s->helping) {
        s->helping = false;
        return;
    }
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        for (size_t k = 0; k < 4 && actions[i].keys[k] != 0; k++)
            if (actions[i].keys[k] == key) actions[i].act(s, actions[i].value);
}

/* False: the terminal is not known. */
static bool begin_curses(void)
{
    if (newterm(NULL, stdout, stdin) == NULL) return false;
    raw(); /* Ctrl-C is a key, so that the terminal is always put back */
    noecho();
    keypad(stdscr, TRUE);
    set_escdelay(50);
    curs_set(0);
    start_color();
    use_default_colors();
    init_pair(PAIR_TITLE, COLOR_BLACK, COLOR_GREEN);
    init_pair(PAIR_LOW, COLOR_GREEN, -1);
    init_pair(PAIR_HIGH, COLOR_YELLOW, -1);
    init_pair(PAIR_FULL, COLOR_RED, -1);
    init_pair(PAIR_BAR, COLOR_BLACK, COLOR_CYAN);
    init_pair(PAIR_SELECTED, COLOR_BLACK, COLOR_CYAN);
    return true;
}

static void watch(screen *s, double delay_s)
{
    int64_t next_ns = jm_now_ns();
    while (!s->quit) {
        int64_t now_ns = jm_now_ns();
        if (now_ns >= next_ns) {
            if (!s->paused) top_watched_read(s->watched);
            next_ns = now_ns + (int64_t)(delay_s * 1e9);
        }
        draw(s, delay_s);
        timeout((int)((next_ns - now_ns) / 1000000) + 1);
        int key = getch();
        if (key == ERR || key == KEY_RESIZE) continue;
        if (s->typing)
            type(s, key);
        else
            obey(s, key);
    }
}

static int run(const cli_args *args)
{
    static top_watched watched;
    double delay_s = 0.5;
    jm_inventory *inventory;
    jm_error err;
    if (!cli_get_real(args, "--delay", 0, 3600, &delay_s)) return jm_status_exit_code(JM_USAGE);
    if (delay_s < 0.2) return cli_usage_error(args, "--delay is at least 0.2 s: sensors update no faster");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return cli_usage_error(args,
                               "top needs a terminal; `joulemap stat --interval 1 COMMAND` prints lines");
    if (jm_inventory_create(&inventory, cli_get(args, "--sim"), &err) != JM_OK) return cli_fail(args, &err);
    if (jm_inventory_board_count(inventory) == 0) {
        jm_inventory_free(inventory);
        return cli_error(args, JM_NO_DEVICE, "`joulemap doctor` shows why; `--sim h200` simulates a GPU",
                         "no GPU found, and no CPU whose energy can be read");
    }
    setlocale(LC_CTYPE, "");
    if (!begin_curses()) {
        jm_inventory_free(inventory);
        return cli_error(args, JM_NOT_SUPPORTED, "set TERM, such as TERM=xterm",
                         "this terminal is not known");
    }
    top_watched_begin(&watched, inventory);
    screen s = {.watched = &watched, .chart = -1, .wide = strcmp(nl_langinfo(CODESET), "UTF-8") == 0};
    watch(&s, delay_s);
    endwin();
    top_watched_end(&watched);
    if (!watched.threaded || watched.stopping) jm_inventory_free(inventory);
    return 0;
}

int main(int argc, char **argv)
{
    return cli_tool_main(&cli_verb_top, run, argc, argv);
}
