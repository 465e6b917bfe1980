/* Chooses the file's board and a model for it: kept by calibration, shipped, or scaled. */
#include "estimate/model_choice.h"

#include "base/status.h"
#include "base/vec.h"
#include "estimate/power.h"
#include "import/ncu/sheet.h"
#include "model/board_model.h"
#include "record/device/device.h"
#include "record/sample/inventory.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- boards by name, and whether a model is for a chip */

/* The board with this driver name; NULL: unknown. */
static const jm__ncu_board *find_board_by_name(const jm__ncu_words *words, const char *name)
{
    jm__profile profile;
    for (size_t i = 0; i < words->board_count; i++)
        if (words->boards[i].match[0] != '\0' && fnmatch(words->boards[i].match, name, FNM_CASEFOLD) == 0)
            return &words->boards[i];
    if (jm__profile_match(&profile, name, NULL) != JM_OK) return NULL;
    for (size_t i = 0; i < words->board_count; i++)
        if (strcmp(words->boards[i].name, profile.name) == 0) return &words->boards[i];
    return NULL;
}

static size_t count_known(const jm__board_model *model, const jm__ncu_words *words)
{
    size_t known = 0;
    for (size_t f = 0; f < model->count; f++)
        known += jm__is_details(model->features[f].metric) ||
                 jm__ncu_word_of(words, model->features[f].metric) != NULL;
    return known;
}

static bool covers_features(const jm__board_model *model, const jm__ncu_words *words)
{
    return 2 * count_known(model, words) > model->count && isfinite(model->clock_mhz);
}

/* ---- models kept by calibration */

/* The kept model (model/store.h) for an ncu file.
 *
 * A file has the kind of its board, perhaps its PCI address, never its UUID, and may come from another
 * machine. Of the models kept for boards of this kind:
 *
 * 1. if this machine has one board of the kind (at the file's address, if it has one) with a model, that one
 * is the board's own;
 *
 * 2. if the board is not determined, but only one model is kept (for this machine's boards, else for any), it
 * is taken, as another board's;
 *
 * 3. if several are left, none is taken, and the error names them;
 *
 * 4. if there is none: OK, without a model. */

/* A model for this kind of board of the chip. */
typedef struct candidate {
    char uuid[JM_BOARD_TEXT], path[512];
    bool is_local; /* for a board of this machine that may be the file's */
} candidate;

typedef struct search {
    jm__model_choice *out;
    const jm__ncu_words *words;
    JM_VEC(candidate) found;
    size_t local_boards; /* boards of this machine, of the kind, at the file's address */
    size_t local_count;  /* of those, boards with a model */
} search;

static jm_status add_candidate(void *taker, const char *uuid, const char *path, jm_error *err)
{
    search *s = taker;
    jm__board_model model;
    jm_error cause = {0};
    candidate one = {.is_local = false};
    jm_status status = jm__model_read(&model, path, &cause);
    if (status == JM_NO_MEMORY) return jm__no_memory(err, "jm__model_choose");
    if (status != JM_OK) {
        snprintf(s->out->unread, sizeof s->out->unread, "%.255s", cause.text);
        return JM_OK;
    }
    bool fits = model.count > 0 && covers_features(&model, s->words) &&
                find_board_by_name(s->words, model.board) == s->out->file_board &&
                strlen(path) < sizeof one.path;
    jm__model_free(&model);
    if (!fits) return JM_OK;
    snprintf(one.uuid, sizeof one.uuid, "%s", uuid);
    snprintf(one.path, sizeof one.path, "%s", path);
    return jm__vec_push(&s->found, one) ? JM_OK : jm__no_memory(err, "jm__model_choose");
}

/* Whether "00000000:06:00.0" is the file's PCI address; true if the file has none. */
static bool is_at(const char *pci, const jm__ncu_words *words, const jm__ncu_sheet *sheet)
{
    unsigned domain, bus, device;
    double file_domain = jm__ncu_sheet_place(sheet, &words->pci_domain);
    double file_bus = jm__ncu_sheet_place(sheet, &words->pci_bus);
    double file_device = jm__ncu_sheet_place(sheet, &words->pci_device);
    if (isnan(file_domain) || isnan(file_bus) || isnan(file_device)) return true;
    if (sscanf(pci, "%x:%x:%x", &domain, &bus, &device) != 3) return false;
    return fabs(domain - file_domain) < 0.5 && fabs(bus - file_bus) < 0.5 && fabs(device - file_device) < 0.5;
}

/* Marks candidates of this machine's boards. A machine without readable boards has none. */
static jm_status find_local_boards(search *s, const jm__ncu_sheet *sheet, jm_error *err)
{
    const jm__device_options options = {.no_cpu = true};
    jm__devices *devices;
    jm__profile profile;
    jm_error none = {0};
    jm_status status = jm__devices_open(&devices, &options, &none);
    if (status == JM_NO_MEMORY) return jm__no_memory(err, "jm__model_choose");
    if (status != JM_OK) return JM_OK;
    for (size_t b = 0; b < jm__devices_board_count(devices); b++) {
        const jm_board *board = jm__devices_board(devices, b);
        status = jm__profile_match(&profile, board->name, &none);
        if (status == JM_NO_MEMORY) break;
        if (status != JM_OK) continue;
        if (strcmp(profile.name, s->out->file_board->profile) != 0 || !is_at(board->pci, s->words, sheet))
            continue;
        s->local_boards++;
        for (size_t i = 0; i < s->found.count; i++) {
            bool same = strcmp(s->found.items[i].uuid, board->uuid) == 0;
            s->found.items[i].is_local = s->found.items[i].is_local || same;
            s->local_count += same;
        }
    }
    jm__devices_close(devices);
    return status == JM_NO_MEMORY ? jm__no_memory(err, "jm__model_choose") : JM_OK;
}

static jm_status fail_several(const search *s, jm_error *err)
{
    char names[400] = "";
    size_t used = 0;
    for (size_t i = 0; i < s->found.count; i++) {
        if (s->local_count > 0 && !s->found.items[i].is_local) continue;
        int added =
            snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", s->found.items[i].path);
        if (added < 0 || (size_t)added >= sizeof names - used) {
            snprintf(names + used, sizeof names - used, "%s", used + 5 < sizeof names ? ", ..." : "");
            break;
        }
        used += (size_t)added;
    }
    jm_status status = jm__fail(
        err, JM_NOT_FOUND, 0, NULL,
        "several models are kept for boards of the file's kind, and the file does not name its board: %s",
        names);
    return jm__hint(err, status, "select one: --model FILE, or the shipped one: --model h100, --model h200");
}

static jm_status choose_candidate(search *s, jm_error *err)
{
    const candidate *chosen = NULL;
    bool own = s->local_count == 1 && s->local_boards == 1;
    if (s->found.count == 0) return JM_OK;
    if (s->local_count > 1 || (s->local_count == 0 && s->found.count > 1)) return fail_several(s, err);
    for (size_t i = 0; i < s->found.count; i++)
        if (s->local_count == 0 || s->found.items[i].is_local) chosen = &s->found.items[i];
    JM_TRY(jm__model_read(&s->out->model, chosen->path, err));
    if (!own) jm__model_mark_other_board(&s->out->model);
    memcpy(s->out->name, chosen->path, sizeof s->out->name);
    s->out->why =
        own ? "calibrated on this machine's board, the only one that the file can be from"
            : "the only model kept for such boards; the file does not name its board: wider, as for "
              "another board";
    return JM_OK;
}

/* This machine's boards are read only if a model of the kind is kept. NOT_FOUND: rule 3. */
static jm_status find_kept(jm__model_choice *choice, const jm__ncu_words *words, const jm__ncu_sheet *sheet,
                           jm_error *err)
{
    search s = {.out = choice, .words = words};
    jm_status status = jm__model_each_own(add_candidate, &s, err);
    if (status == JM_OK && s.found.count > 0) status = find_local_boards(&s, sheet, err);
    if (status == JM_OK) status = choose_candidate(&s, err);
    jm__vec_free(&s.found);
    return status;
}

/* ---- scaling a model to another kind of board of the same chip */

/* The joules of an event (an instruction, a byte) are the same on all boards of a chip. What differs is how
 * many events the units can do, and what draws power without events:
 *
 *     weights of rates in percent of the memory's peak    times new / old peak of the memory
 *     the constant, the clock's part, gaps                half of it times new / old number of
 * multiprocessors (the other half is memory and board), a choice highest rates in training times new / old
 * number of multiprocessors */

/* The part of the constant and of gaps that is proportional to the multiprocessors. A choice: leakage of the
 * chip against memory, links, fans and converters. */
static const double chip_share = 0.5;

/* The error of one board's model on kernels of another board with as many multiprocessors
 * (bench/results/estimate.txt). With fewer: half of the change, a choice. */
static const double same_size_u = 0.10, size_u = 0.5;

static void scale_weight(jm__board_model *model, size_t f, double factor)
{
    size_t n = model->count + 1;
    if (f < model->count)
        model->features[f].weight_w *= factor;
    else
        model->constant_w *= factor;
    for (size_t i = 0; i < n; i++) {
        model->covariance[f * n + i] *= factor;
        model->covariance[i * n + f] *= factor;
    }
}

static void model_scale(jm__board_model *model, const jm__ncu_words *words, const jm__ncu_board *from,
                        const jm__ncu_board *to)
{
    double size = to->multiprocessors / from->multiprocessors;
    double memory = to->dram_bytes_per_second / from->dram_bytes_per_second;
    double always = 1 - chip_share + chip_share * size;
    for (size_t f = 0; f < model->count; f++) {
        const jm__ncu_word *word = jm__ncu_word_of(words, model->features[f].metric);
        if (word == NULL) continue;
        if (word->of_dram) scale_weight(model, f, memory);
        if (word->always) scale_weight(model, f, always);
        if (!word->of_dram && !word->always && word->percent_count == 0) model->features[f].most *= size;
    }
    scale_weight(model, model->count, always);
    for (size_t s = 0; s < JM_IDLE_STATES; s++) {
        model->idle[s].power_w *= always;
        model->idle[s].u_w *= always;
    }
    for (size_t i = 0; i < model->kernel_count; i++) {
        model->kernels[i].power_w *= always;
        model->kernels[i].predicted_w *= always;
    }
}

/* ---- the file's board, and a model for it */

bool jm__model_file_names_board(const jm__ncu_words *words, const jm__ncu_sheet *sheet)
{
    const char *name = jm__ncu_sheet_text(sheet, &words->name);
    return name != NULL && find_board_by_name(words, name) != NULL;
}

static jm_status find_board(jm__model_choice *choice, const char *requested, const jm__ncu_words *words,
                            jm_error *err)
{
    char names[256] = "";
    size_t used = 0;
    choice->board = choice->file_board;
    if (requested == NULL) return JM_OK;
    for (size_t i = 0; i < words->board_count; i++) {
        choice->board = &words->boards[i];
        if (strcmp(choice->board->name, requested) == 0) return JM_OK;
        int added =
            snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", choice->board->name);
        used += added > 0 && (size_t)added < sizeof names - used ? (size_t)added : 0;
    }
    return jm__fail(err, JM_NOT_FOUND, 0, NULL, "no board \"%.40s\" of the file's chip (%s); known: %s",
                    requested, words->title, names);
}

static void find_file_board(jm__model_choice *choice, const jm__ncu_words *words, const jm__ncu_sheet *sheet)
{
    const char *name = jm__ncu_sheet_text(sheet, &words->name);
    choice->file_name = name;
    choice->dram_hz = jm__ncu_sheet_place(sheet, &words->dram_clock);
    choice->file_board = name != NULL ? find_board_by_name(words, name) : NULL;
    choice->board_stated = choice->file_board != NULL;
    if (!choice->board_stated) choice->file_board = jm__ncu_board_by_memory(words, choice->dram_hz);
}

static bool is_file(const char *requested)
{
    return strchr(requested, '/') != NULL || strchr(requested, '.') != NULL || access(requested, F_OK) == 0;
}

static jm_status read_requested(jm__board_model *model, const char *requested, bool file, jm_error *err)
{
    jm_board board = {0};
    snprintf(board.profile, sizeof board.profile, "%s", requested);
    JM_TRY(file ? jm__model_read(model, requested, err) : jm__model_shipped(model, &board, err));
    if (model->count > 0) return JM_OK;
    jm__model_free(model);
    *model = (jm__board_model){0};
    if (file) return jm__fail(err, JM_BAD_DATA, 0, NULL, "%s has no weights of counters", requested);
    jm__fail(err, JM_NOT_FOUND, 0, NULL, "no model is shipped for \"%.40s\"", requested);
    return jm__hint(err, JM_NOT_FOUND, "give a file, or the name of a shipped one: h100, h200");
}

static jm_status check_features(const jm__board_model *model, const jm__ncu_words *words, const char *name,
                                jm_error *err)
{
    if (covers_features(model, words)) return JM_OK;
    return jm__fail(err, JM_NOT_SUPPORTED, 0, NULL,
                    "%s is for another chip than the file (%s): ncu has %zu of its %zu counters", name,
                    words->title, count_known(model, words), model->count);
}

/* The shipped model on the details page of a kind of board, at a clock that the board or ncu set; no
 * features: there is none. */
static jm_status find_details(jm__model_choice *choice, double max_mhz, const jm__ncu_words *words,
                              const jm__ncu_sheet *sheet, jm_error *err)
{
    jm_board board = {0};
    if (!jm__details_suffice(words, choice->file_board, sheet)) return JM_OK;
    snprintf(board.profile, sizeof board.profile, "%.16s_details%s", choice->board->profile,
             jm__clock_is_full(max_mhz, choice->board->clock_mhz) ? "" : "_base");
    JM_TRY(jm__model_shipped(&choice->model, &board, err));
    if (choice->model.count == 0) return JM_OK;
    snprintf(choice->name, sizeof choice->name, "shipped %s", board.profile);
    choice->why = "the file is of ncu's details page, which lacks most counters";
    return JM_OK;
}

jm_status jm__model_choose(jm__model_choice *choice, jm__model_request request, const jm__ncu_words *words,
                           const jm__ncu_sheet *sheet, jm_error *err)
{
    *choice = (jm__model_choice){.why = ""};
    find_file_board(choice, words, sheet);
    JM_TRY(find_board(choice, request.board, words, err));
    if (!choice->board_stated && isnan(choice->dram_hz)) choice->file_board = choice->board;
    if (request.model == NULL) JM_TRY(find_details(choice, request.max_mhz, words, sheet, err));
    if (request.model == NULL && choice->model.count == 0 && choice->board == choice->file_board)
        JM_TRY(find_kept(choice, words, sheet, err));
    if (choice->model.count == 0) {
        bool file = request.model != NULL && is_file(request.model);
        const char *name = request.model != NULL ? request.model : choice->board->profile;
        snprintf(choice->name, sizeof choice->name, "%s%.500s", file ? "" : "shipped ", name);
        JM_TRY(read_requested(&choice->model, name, file, err));
    }
    jm_status status = check_features(&choice->model, words, choice->name, err);
    const jm__ncu_board *board = find_board_by_name(words, choice->model.board);
    choice->is_scaled = board != NULL && board != choice->board;
    if (status == JM_OK && choice->is_scaled) model_scale(&choice->model, words, board, choice->board);
    if (choice->is_scaled || choice->model.shipped || choice->board != choice->file_board) {
        double from = (board != NULL ? board : choice->board)->multiprocessors;
        choice->scale_u = hypot(same_size_u, size_u * log(choice->board->multiprocessors / from));
    }
    if (status != JM_OK) jm__model_free(&choice->model);
    return status;
}

jm_status jm__model_named(jm__board_model *model, const char *requested, const jm__ncu_words *words,
                          jm_error *err)
{
    size_t last = words->board_count - 1; /* the last board with its own model */
    while (last > 0 && strcmp(words->boards[last].name, words->boards[last].profile) != 0)
        last--;
    const char *name = requested != NULL ? requested : words->boards[last].name;
    return read_requested(model, name, requested != NULL && is_file(requested), err);
}
