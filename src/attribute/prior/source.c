/* Priors of powers: limits, kernel families, idle states of models, and files. */
#include "attribute/prior/source.h"

#include "attribute/work/classes.h"
#include "base/csv.h"
#include "base/status.h"
#include "base/strbuf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the board's limit. On an H200 with 700 W, kernels draw up to 1.4 times the limit before it throttles
 * (978 W, a matrix product in bursts; 1008 W, the head of a Llama: shared/data/h200-counters-llama), and idle
 * states up to 0.29 (200 W, between bursts: shared/sensors.md). The bounds are a seventh above the former and
 * twice the latter. */
static const double work_max = 1.6, idle_max = 0.6;

/* The largest limit that can be set: a lower one reduces the mean power of work, not the power of a kernel
 * or of an idle state. */
static double limit_of(const jm_board *board)
{
    bool has_most = isfinite(board->power_limit_max_w) && board->power_limit_max_w > 0;
    return has_most ? board->power_limit_max_w : board->power_limit_w;
}

jm_status jm__board_limits(double **out, const jm_board *board, const jm__board_work *work, jm_error *err)
{
    const jm__columns *columns = &work->columns;
    double limit_w = limit_of(board);
    *out = NULL;
    if (!isfinite(limit_w) || limit_w <= 0) return JM_OK;
    *out = calloc(columns->count + 1, sizeof **out);
    if (*out == NULL) return jm__no_memory(err, "jm__board_limits");
    /* Without kernels, and before the first one, untraced work may have run. */
    bool idle_is_known = columns->class_columns > 0 && !work->from_host;
    for (size_t k = 0; k < columns->count; k++) {
        bool is_work = k < columns->class_columns;
        bool unlimited = !idle_is_known || k == columns->class_columns + JM_IDLE_BEFORE;
        if (is_work)
            (*out)[k] = work_max * limit_w;
        else
            (*out)[k] = unlimited ? INFINITY : idle_max * limit_w;
    }
    return JM_OK;
}

/* Power of kernel families, relative to each other.
 *
 * A board's clock, limit and cooling change all kernels by the same factor, so only the ratio of a family to
 * the mean is used for another run. Memory-bound kernels draw less on an H100, whose memory is slower
 * (3.4 TB/s, an H200's 4.8); products draw the same. The figures are from one H200 and two H100s at 1980 MHz
 * (limit 700 W):
 *
 * suite: shared/data/h200-counters-llama, 45 s of 57 micro-kernels in bursts of 1 to 46 ms, fitted to the
 * ring (first order, 13 ms, lag 4.5 ms; non-negative least squares, without readings 3 robust deviations out:
 * residual 20 W, standard errors of 4 to 8 W). Kernels of more than 20 us, so that the board does not wait
 * for launches.
 *
 * mixture: shared/data/h200-mixture, 25 s of seven kernels in random segments, fitted the same way (15 W).
 *
 * bursts: shared/data/h200-gpt and shared/attribution.md, parts of a GPT alone, in bursts.
 *
 * H100: bench/results/families.txt, 36 calls alone, in bursts (2 to 6 %).
 */

typedef struct family_power {
    double h200_w, h100_w;
    double own_u; /* standard deviation of the members, relative */
    bool slow;    /* short members take long to reach full power */
} family_power;

static const family_power families[JM_KERNEL_FAMILY_COUNT] = {
    /* Any kernel: the mean of the families from MATRIX to COPY; kernels spread by 25 to 30 % around the mean
     * busy power (shared/attribution.md). */
    [JM_KERNEL_FAMILY_OTHER] = {663, 609, 0.30, false},
    /* Mostly waiting for other ranks: 218 W (shared/findings.md, 12). A choice: 1.5 times as much when they
     * do not wait. */
    [JM_KERNEL_FAMILY_COLLECTIVE] = {270, 270, 0.35, false},
    /* suite: 978, 962, 926, 855 (fp16), 853; mixture: 953; bursts: 925 (head, one product): 922 +- 5 %. H100:
     * 973, 946, 941, 929, 910, 862: 927 +- 4 %; with few columns 734, 668 and 549. A product of zeros draws
     * half (suite: 468). Programs' numbers are seldom random, and products with few columns are memory-bound:
     * hence the spread, a choice. */
    [JM_KERNEL_FAMILY_MATRIX] = {922, 927, 0.15, false},
    /* H100: 730 and 717 (rows of 4 bytes), 602 and 572 (of 2). Not measured on an H200: the same. */
    [JM_KERNEL_FAMILY_WARP_MATRIX] = {655, 655, 0.12, false},
    /* suite: 629 (single precision), 658 (double); mixture: 612 (single). Not measured on an H100: the same.
     */
    [JM_KERNEL_FAMILY_PLAIN_MATRIX] = {633, 633, 0.10, false},
    /* suite: 938 (heads of 128), 618 (of 64); bursts: 860, the 878 of attn less 57 % of its time at 922 W.
     * H100: forward 820, 815 (heads of 128), 719, with dropout 545; backward, from forward and backward less
     * forward: 654, 615, with dropout 629. */
    [JM_KERNEL_FAMILY_ATTENTION] = {805, 685, 0.20, false},
    /* suite: 970 (3x3). H100: 903 (1x1), 802 and 778 (3x3). With few channels they are memory-bound as a copy
     * is (620, 480). H200: a choice between the two. */
    [JM_KERNEL_FAMILY_CONVOLUTION] = {860, 828, 0.20, false},
    /* H100: 388. Not measured on an H200: half of the increase of memory-bound kernels. Uses no tensor cores,
     * so a plain product is the upper bound. */
    [JM_KERNEL_FAMILY_DEPTHWISE] = {430, 388, 0.25, false},
    /* suite: 456. H100: 346; in layers of MNASNet, RegNet and Wide ResNet, alone in bursts
     * (bench/results/bursts.txt): 470, 468, 430, 398, 383. */
    [JM_KERNEL_FAMILY_BATCH_NORM] = {456, 416, 0.12, true},
    /* suite: layer norm 720, sums 639 and 596, softmax 541, row means 511, cumulative sum 501, pooling 470;
     * mixture: softmax 565. H100: softmax 632, layer norm 558, sum 401. */
    [JM_KERNEL_FAMILY_REDUCTION] = {568, 530, 0.22, true},
    /* suite: addcdiv 697, add 681 and 654, relu 663, pow 660 and 647, lerp 610, int_mod 550, int_mul 519,
     * cast_up 519; bursts: AdamW 470. H100: dropout 517, add 510, masked fill 475; bursts: ReLU 563. */
    [JM_KERNEL_FAMILY_ELEMENTWISE] = {606, 516, 0.13, false},
    /* suite: gelu 793 and 722, exp 740 and 685; mixture: sin 774. H100: gelu 663. */
    [JM_KERNEL_FAMILY_TRANSCENDENTAL] = {743, 663, 0.08, false},
    /* suite: copy 662 and 640, cat 610, transpose 558; mixture: 621. H100: casts 479 and 436, transpose 473.
     */
    [JM_KERNEL_FAMILY_COPY] = {618, 463, 0.08, false},
    /* suite: 493 and 427. H100: 379. */
    [JM_KERNEL_FAMILY_FILL] = {460, 379, 0.10, false},
    /* No core works, and memory hardly. As gaps: suite 160 W, mixture 126, bursts 122 to 148. */
    [JM_KERNEL_FAMILY_TRANSFER] = {160, 160, 0.25, false},
    /* suite: sort 408, gather 304. Not measured on an H100: reduced as a copy is. */
    [JM_KERNEL_FAMILY_INDEX] = {356, 270, 0.20, true},
};

/* A short kernel ends before it fills the board. Its power rises from that of a gap (120 to 160 W), and half
 * way at this duration. mixture: a matrix product of 5.4 us 654 W, half at 3.1 us; gelu of 2.6 us 339 W, half
 * at 4.9 us; half_us is the geometric mean. H100: casts of 22 and 202 us 436 and 479 W, half at 3.3 us. Sums
 * over rows also wait for their last rows: layer norm of 36 us, 50 MB in and out, 544 W; large ones 720
 * (bursts). */
static const double gap_w = 140, half_us = 3.9, slow_half_us = 15;

/* A kernel of no known family may fill the board at once, or more slowly: so unsure is what it loses. */
static const double unknown_rise_share = 0.5;

/* Standard uncertainty of a whole family, relative. From program to program on such boards: attention 778 W
 * in the suite and 860 in bursts, elementwise 620 and 470 (AdamW). On other boards the order holds but not
 * the figures: a V100's sgemm draws 1.3 times the mean of its 26 kernels, which spread by 20 %
 * (shared/data/accelwattch-volta); the table has 0.9. */
static const double same_board_family_u = 0.1, other_family_u = 0.25;

/* The part of a kernel's variance that is common to its launch shapes and layers. A choice. */
static const double kin_variance_share = 0.5;

static bool is_h200(const jm_board *board)
{
    return strcmp(board->profile, "h200") == 0;
}

/* Other boards count as an H100: they have less memory bandwidth per core than an H200. */
static bool is_hopper(const jm_board *board)
{
    return is_h200(board) || strcmp(board->profile, "h100") == 0;
}

static double power_of(const jm_board *board, jm__kernel_family family, double mean_us)
{
    double most_w = is_h200(board) ? families[family].h200_w : families[family].h100_w,
           half = families[family].slow ? slow_half_us : half_us;
    return gap_w + (most_w - gap_w) * mean_us / (mean_us + half);
}

/* The classes of a column. */
typedef struct mixture {
    double seconds, calls;
    double joules;  /* at the powers of their families */
    double errors;  /* seconds times the squares of the members' errors */
    uint32_t first; /* class + 1 */
    bool one_family, one_name;
} mixture;

static void add_family_class(mixture *m, const jm_board *board, const jm__classes *classes, uint32_t c,
                             const jm__use_sum *sum)
{
    jm__kernel_family family = classes->items[c].family;
    const jm__class *first = m->first != 0 ? &classes->items[m->first - 1] : NULL;
    double mean_us = sum->calls > 0 ? sum->ran_s / (double)sum->calls * 1e6 : 0;
    double seconds = fmax(sum->ran_s, 1e-9); /* > 0, so that means exist */
    m->seconds += seconds;
    m->calls += fmax(1, (double)sum->calls);
    m->joules += seconds * power_of(board, family, mean_us);
    m->errors += seconds * families[family].own_u * families[family].own_u;
    m->one_family = first == NULL || (m->one_family && first->family == family);
    m->one_name = first == NULL || (m->one_name && strcmp(first->name, classes->items[c].name) == 0);
    if (first == NULL) m->first = c + 1;
}

static mixture *find_mixtures(const jm_board *board, const jm__board_work *work, const jm__work_set *set)
{
    mixture *columns = calloc(work->columns.class_columns + 1, sizeof *columns);
    for (size_t u = 0; columns != NULL && u < work->tally.uses.count; u++) {
        const jm__use_sum *sum = &work->tally.uses.items[u];
        if (sum->ran_s < 0) continue;
        add_family_class(&columns[work->columns.of_use[u]], board, &set->classes,
                         set->uses.items.items[u].class_index, sum);
    }
    return columns;
}

/* The first column of the same kernel, which may be k itself. */
static uint32_t kin_of(const mixture *columns, size_t k, const jm__classes *classes)
{
    for (uint32_t m = 0; m < k && columns[k].one_name; m++)
        if (columns[m].one_name &&
            strcmp(classes->items[columns[m].first - 1].name, classes->items[columns[k].first - 1].name) == 0)
            return m;
    return (uint32_t)k;
}

/* What a kernel of this length may lose to its rise, relative to what it draws. */
static double lost_of(const mixture *m)
{
    double us = m->seconds / m->calls * 1e6, rise = us / (us + half_us);
    double most_w = families[JM_KERNEL_FAMILY_OTHER].h200_w - gap_w;
    return (1 - rise) * most_w / (gap_w + rise * most_w);
}

static jm__expectation make_expectation(const mixture *m, double mean_w, double all_j, double family_u,
                                        const jm__classes *classes)
{
    jm__kernel_family family = classes->items[m->first - 1].family;
    if (!m->one_family) family = JM_KERNEL_FAMILY_OTHER;
    double own_u = m->one_family ? sqrt(m->errors / m->seconds) : families[family].own_u;
    if (family == JM_KERNEL_FAMILY_OTHER) own_u = hypot(own_u, unknown_rise_share * lost_of(m));
    return (jm__expectation){
        .share = m->joules / m->seconds / mean_w,
        .weight = m->joules / all_j,
        .family = (uint32_t)family,
        .family_u = family == JM_KERNEL_FAMILY_OTHER ? 0 : family_u, /* its members share no error */
        .own_u = own_u,
    };
}

jm__expectation *jm__family_power(const jm_board *board, const jm__board_work *work, const jm__work_set *set)
{
    size_t count = work->columns.class_columns;
    jm__expectation *out = calloc(count + 1, sizeof *out);
    uint32_t *kin_columns = calloc(count + 1, sizeof *kin_columns);
    mixture *columns = find_mixtures(board, work, set);
    bool fine = out != NULL && kin_columns != NULL && columns != NULL;
    double all_s = 0, all_j = 0;
    for (size_t k = 0; fine && k < count; k++) {
        all_s += columns[k].seconds;
        all_j += columns[k].joules;
        out[k].kin = kin_of(columns, k, &set->classes);
        kin_columns[out[k].kin]++;
    }
    for (size_t k = 0; fine && k < count; k++) {
        uint32_t kin = out[k].kin;
        out[k] = make_expectation(&columns[k], all_j / all_s, all_j,
                                  is_hopper(board) ? same_board_family_u : other_family_u, &set->classes);
        out[k].kin = kin;
        if (kin_columns[kin] < 2) continue;
        out[k].kin_u = sqrt(kin_variance_share) * out[k].own_u;
        out[k].own_u *= sqrt(1 - kin_variance_share);
    }
    free(columns);
    free(kin_columns);
    if (!fine) free(out);
    return fine ? out : NULL;
}

/* An H200 draws 165 W in its first idle millisecond, then 140 (measured: sim/profiles/h200.json). So in one
 * state, a gap of 1 ms draws 165 W and one of 20 ms 141: 8 % around the middle. */
static const double length_u = 0.08;

/* Mean powers of gaps in 12 runs of 9 programs on H100s are 119 to 143 W, 7 % (bench/results/bursts.txt). On
 * one H200 they are 122 to 148 W, and 168 between the bursts of a suite (shared/data/h200-counters-llama):
 * 12 % of the mean, and the suite 25 % above the others. Between boards of one kind nothing is measured: a
 * larger value, a choice. */
static const double own_board_u = 0.25, another_board_u = 0.35;

bool jm__idle_of_model(jm__idle_known *idle_powers, const jm__board_model *model)
{
    *idle_powers = (jm__idle_known){.together_u = model->shipped ? another_board_u : own_board_u};
    idle_powers->power_w[JM_IDLE_BEFORE] = NAN;
    for (int s = JM_IDLE_FIRST_GAP; s < JM_IDLE_STATES; s++) {
        const jm__model_idle *idle = &model->idle[s];
        idle_powers->power_w[s] = idle->u_w > 0 ? idle->power_w : NAN;
        idle_powers->u_w[s] = hypot(idle->u_w, length_u * idle->power_w);
    }
    return jm__model_has_idle(model);
}

/* ---- energy of a call of a layer that ran alone (joulemap.torch.isolate) */

/* Alone, a layer has other data, a cooler board and more cache hits. Repeated measurements of one layer
 * differed by 2 % (shared/attribution.md); another 2 % for the rest, a choice. */
static const double isolation_u = 0.03;

enum { COLUMNS_MAX = 4 }; /* of a file */

/* A layer, in one direction. */
typedef struct pass {
    const char *path;
    size_t length; /* of the path */
    jm_span_kind kind;
} pass;

static bool is_of(const pass *requested, const char *layer)
{
    return strncmp(layer, requested->path, requested->length) == 0 &&
           (layer[requested->length] == '\0' || layer[requested->length] == '.');
}

/* Whether a process works on this board; without streams, each does. */
static bool runs_on(const jm__dataset *d, const jm_board *board, int64_t process_id)
{
    for (size_t i = 0; i < d->stream_count; i++)
        if (d->streams[i].process_id == process_id && d->streams[i].board_id == board->id) return true;
    return d->stream_count == 0;
}

/* Calls of the layer itself within the time from which powers are learnt. */
static double calls_of(const jm__prior_scene *scene, const pass *requested)
{
    const jm__dataset *d = scene->set->contexts.spans->dataset;
    double calls = 0;
    for (size_t i = 0; i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        if (span->kind != requested->kind ||
            !jm__intervals_contain(&scene->work->time->learn, span->start_ns))
            continue;
        if (strcmp(jm__dataset_text(d, span->name_id), requested->path) != 0) continue;
        calls += runs_on(d, scene->board, span->process_id);
    }
    return calls;
}

/* Seconds of each column within the layer; their sum. */
static double seconds_of(double *row, const jm__prior_scene *scene, const pass *requested)
{
    const jm__dataset *d = scene->set->contexts.spans->dataset;
    double sum_s = 0;
    for (size_t u = 0; u < scene->work->tally.uses.count; u++) {
        const jm__use *use = &scene->set->uses.items.items[u];
        const jm__context *place = &scene->set->contexts.items.items[use->context];
        const jm__use_sum *sum = &scene->work->tally.uses.items[u];
        if (sum->ran_s < 0 || place->kind != (int64_t)requested->kind) continue;
        if (!is_of(requested, jm__dataset_text(d, place->layer))) continue;
        jm__use_part parts[JM_USE_PARTS];
        for (size_t i = jm__use_parts(scene->work, u, parts); i-- > 0;)
            row[parts[i].column] += parts[i].share * sum->inside.learn_s;
        sum_s += sum->inside.learn_s;
    }
    return sum_s;
}

static jm_status read_direction(pass *requested, jm__csv *csv, size_t column, jm_error *err)
{
    const char *text = jm__csv_text(csv, column);
    requested->kind = JM_SPAN_FORWARD;
    if (strcmp(text, jm_span_kind_text(JM_SPAN_FORWARD)) == 0) return JM_OK;
    requested->kind = JM_SPAN_BACKWARD;
    if (strcmp(text, jm_span_kind_text(JM_SPAN_BACKWARD)) == 0) return JM_OK;
    return jm__csv_bad(csv, column, err, "is neither forward nor backward");
}

typedef struct reader {
    jm__prior *prior;
    jm__prior_lines *lines;
    jm__csv *csv;
    const jm__prior_scene *scene;
    size_t column[COLUMNS_MAX];
    double *row; /* coefficients of the current line's equation */
} reader;

static jm_status add_layer(reader *r, jm_error *err)
{
    jm__csv *csv = r->csv;
    const size_t *column = r->column;
    double energy_j, u_j;
    pass requested = {.path = jm__csv_name(csv, column[0])};
    requested.length = strlen(requested.path);
    JM_TRY(read_direction(&requested, csv, column[1], err));
    JM_TRY(jm__csv_number(csv, column[2], &energy_j, err));
    JM_TRY(jm__csv_number(csv, column[3], &u_j, err));
    if (!(energy_j > 0) || !isfinite(energy_j)) return jm__csv_bad(csv, column[2], err, "is not an energy");
    if (!(u_j >= 0) || !isfinite(u_j))
        return jm__csv_bad(csv, column[3], err, "is not a standard uncertainty");
    r->lines->all++;
    double calls = calls_of(r->scene, &requested), seconds = seconds_of(r->row, r->scene, &requested);
    if (!(calls > 0) || !(seconds > 0)) return JM_OK;
    r->lines->used++;
    for (size_t k = 0; k < r->prior->columns; k++)
        r->row[k] /= seconds;
    double power_w = energy_j * calls / seconds;
    return jm__prior_add(r->prior, r->row, power_w, power_w * hypot(u_j / energy_j, isolation_u), err);
}

/* ---- powers of kernels: from the kernel alone in a loop, another run, or a paper */

/* The mean power of a kernel, its launch shapes weighted by time; false if none ran in its own column. */
static bool mean_of(const jm__prior_scene *scene, double *row, const char *name)
{
    const jm__columns *columns = &scene->work->columns;
    double all_s = 0;
    for (size_t c = 0; c < scene->set->classes.count; c++) {
        const jm__class *class = &scene->set->classes.items[c];
        if (columns->of_class[c] == JM_NO_COLUMN || columns->merged[c]) continue;
        if (class->joint || strcmp(class->name, name) != 0)
            continue; /* a joint one is in its class's column */
        for (size_t k = 0; k < columns->class_columns; k++) {
            if (columns->first_of[k] != columns->of_class[c]) continue;
            row[k] += scene->work->learn_seconds[k];
            all_s += scene->work->learn_seconds[k];
        }
    }
    for (size_t k = 0; all_s > 0 && k < columns->count; k++)
        row[k] /= all_s;
    return all_s > 0;
}

static jm_status add_kernel(reader *r, jm_error *err)
{
    jm__csv *csv = r->csv;
    const size_t *column = r->column;
    double power_w, u_w;
    JM_TRY(jm__csv_number(csv, column[1], &power_w, err));
    JM_TRY(jm__csv_number(csv, column[2], &u_w, err));
    if (!(power_w >= 0) || !isfinite(power_w)) return jm__csv_bad(csv, column[1], err, "is not a power");
    if (!jm__prior_is_sane(power_w, u_w))
        return jm__csv_bad(csv, column[2], err, "is not a standard uncertainty");
    r->lines->all++;
    if (!mean_of(r->scene, r->row, jm__csv_name(csv, column[0]))) return JM_OK;
    r->lines->used++;
    return jm__prior_add(r->prior, r->row, power_w, u_w, err);
}

static const struct source {
    const char *columns, *text;
    jm_provenance provenance;
    jm_status (*add)(reader *r, jm_error *err);
} sources[] = {
    {"kernel,power_w,u_w", "powers of kernels", JM_PROVENANCE_GIVEN, add_kernel},
    {"path,direction,energy_j,u_j", "energy of layers alone", JM_PROVENANCE_ISOLATED, add_layer},
    {NULL, NULL, JM_PROVENANCE_GIVEN, NULL},
};

/* Whether the file's header has all of the comma-separated columns. */
static bool match_header(reader *r, const char *columns)
{
    char name[64];
    for (size_t i = 0, length; *columns != '\0'; i++, columns += length + (columns[length] == ',')) {
        length = strcspn(columns, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, columns);
        r->column[i] = jm__csv_find(r->csv, name);
        if (r->column[i] == JM_CSV_NONE) return false;
    }
    return true;
}

static jm_status unknown_header(const char *path, jm_error *err)
{
    jm__strbuf headers = {0};
    for (const struct source *s = sources; s->add != NULL; s++)
        jm__strbuf_format(&headers, "%s%s (%s)", headers.length > 0 ? "; " : "", s->columns, s->text);
    jm_status status = jm__fail(err, JM_BAD_DATA, 0, NULL, "%s has none of the headers that priors have: %s",
                                path, headers.text != NULL ? headers.text : "there are none yet");
    jm__strbuf_free(&headers);
    return status;
}

static jm_status read_lines(reader *r, const struct source *s, jm_error *err)
{
    bool more;
    r->row = calloc(r->prior->columns + 1, sizeof *r->row);
    if (r->row == NULL) return jm__no_memory(err, "jm__prior_from_file");
    for (;;) {
        JM_TRY(jm__csv_next(r->csv, &more, err));
        if (!more) return JM_OK;
        memset(r->row, 0, r->prior->columns * sizeof *r->row);
        JM_TRY(s->add(r, err));
    }
}

jm_status jm__prior_from_file(jm__prior *prior, jm__prior_lines *lines, const char *path,
                              const jm__prior_scene *scene, jm_error *err)
{
    reader r = {.prior = prior, .lines = lines, .scene = scene};
    *lines = (jm__prior_lines){0};
    JM_TRY(jm__csv_open(&r.csv, path, err));
    const struct source *s = sources;
    while (s->add != NULL && !match_header(&r, s->columns))
        s++;
    jm_status status = s->add == NULL ? unknown_header(path, err) : JM_OK;
    *prior = (jm__prior){.provenance = s->provenance, .columns = scene->work->columns.count};
    if (status == JM_OK) status = read_lines(&r, s, err);
    if (status != JM_OK) jm__prior_free(prior);
    free(r.row);
    jm__csv_close(r.csv);
    return status;
}
