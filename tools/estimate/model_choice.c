/* The file's board, and a model for it. */
#include "estimate/model_choice.h"

#include "base/status.h"
#include "estimate/kept_model.h"
#include "estimate/scaled_model.h"
#include "import/ncu/amount.h"
#include "model/board_model.h"
#include "record/sample/profile.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The board of these words whose name, as the driver has it, this is; NULL: none. */
static const jm__ncu_board *board_called(const jm__ncu_words *words, const char *name)
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

bool jm__model_knows_board(const jm__ncu_words *words, const jm__ncu_sheet *sheet)
{
    const char *name = jm__ncu_sheet_text(sheet, &words->name);
    return name != NULL && board_called(words, name) != NULL;
}

static jm_status find_board(jm__model_choice *choice, const char *wanted, const jm__ncu_words *words,
                            jm_error *err)
{
    char known[256] = "";
    size_t used = 0;
    choice->board = choice->file_board;
    if (wanted == NULL) return JM_OK;
    for (size_t i = 0; i < words->board_count; i++) {
        choice->board = &words->boards[i];
        if (strcmp(choice->board->name, wanted) == 0) return JM_OK;
        int added =
            snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", choice->board->name);
        used += added > 0 && (size_t)added < sizeof known - used ? (size_t)added : 0;
    }
    return jm__fail(err, JM_NOT_FOUND, 0, NULL, "no board \"%.40s\" of the file's chip (%s) is known, but %s",
                    wanted, words->title, known);
}

static void find_file_board(jm__model_choice *choice, const jm__ncu_words *words, const jm__ncu_sheet *sheet)
{
    const char *name = jm__ncu_sheet_text(sheet, &words->name);
    choice->file_name = name;
    choice->dram_hz = jm__ncu_sheet_place(sheet, &words->dram_clock);
    choice->file_board = name != NULL ? board_called(words, name) : NULL;
    choice->told = choice->file_board != NULL;
    if (!choice->told) choice->file_board = jm__ncu_board_by_memory(words, choice->dram_hz);
}

static jm_status shipped(jm__board_model *model, const char *profile, jm_error *err)
{
    jm_board board = {0};
    snprintf(board.profile, sizeof board.profile, "%s", profile);
    JM_TRY(jm__model_shipped(model, &board, err));
    if (model->count > 0) return JM_OK;
    jm__model_free(model);
    *model = (jm__board_model){0};
    return jm__fail(err, JM_NOT_FOUND, 0, NULL, "no model is shipped for \"%.40s\"", profile);
}

static bool is_file(const char *wanted)
{
    return strchr(wanted, '/') != NULL || strchr(wanted, '.') != NULL || access(wanted, F_OK) == 0;
}

static jm_status read_wanted(jm__board_model *model, const char *wanted, bool file, jm_error *err)
{
    if (!file) {
        jm_status status = shipped(model, wanted, err);
        return status == JM_NOT_FOUND
                   ? jm__hint(err, status, "give a file, or the name of a shipped one: h100, h200")
                   : status;
    }
    JM_TRY(jm__model_read(model, wanted, err));
    if (model->count > 0) return JM_OK;
    jm__model_free(model);
    return jm__fail(err, JM_BAD_DATA, 0, NULL, "%s knows nothing of counters", wanted);
}

static size_t known_of(const jm__board_model *model, const jm__ncu_words *words)
{
    size_t known = 0;
    for (size_t f = 0; f < model->count; f++)
        known += jm__ncu_word_of(words, model->features[f].metric) != NULL;
    return known;
}

static bool is_known(const jm__board_model *model, const jm__ncu_words *words)
{
    return 2 * known_of(model, words) > model->count && isfinite(model->clock_mhz);
}

static jm_status check_known(const jm__board_model *model, const jm__ncu_words *words, const char *name,
                             jm_error *err)
{
    if (is_known(model, words)) return JM_OK;
    return jm__fail(err, JM_NOT_SUPPORTED, 0, NULL,
                    "%s is of another chip than the file (%s): ncu has words for %zu of its %zu counters",
                    name, words->title, known_of(model, words), model->count);
}

static bool fits(const jm__board_model *model, const jm__ncu_words *words, const jm__ncu_board *board)
{
    return is_known(model, words) && board_called(words, model->board) == board;
}

static jm_status find_kept(jm__model_choice *choice, const jm__ncu_words *words, const jm__ncu_sheet *sheet,
                           jm_error *err)
{
    jm__kept_model kept;
    JM_TRY(jm__kept_model_find(&kept, words, choice->file_board, sheet, fits, err));
    choice->model = kept.model;
    choice->why = kept.why;
    snprintf(choice->name, sizeof choice->name, "%s", kept.path);
    memcpy(choice->unread, kept.unread, sizeof choice->unread);
    return JM_OK;
}

jm_status jm__model_choose(jm__model_choice *choice, jm__model_wish wish, const jm__ncu_words *words,
                           const jm__ncu_sheet *sheet, jm_error *err)
{
    *choice = (jm__model_choice){.why = ""};
    find_file_board(choice, words, sheet);
    JM_TRY(find_board(choice, wish.board, words, err));
    if (!choice->told && isnan(choice->dram_hz)) choice->file_board = choice->board;
    if (wish.model == NULL && choice->board == choice->file_board)
        JM_TRY(find_kept(choice, words, sheet, err));
    if (choice->model.count == 0) {
        bool file = wish.model != NULL && is_file(wish.model);
        const char *name = wish.model != NULL ? wish.model : choice->board->profile;
        snprintf(choice->name, sizeof choice->name, "%s%.500s", file ? "" : "shipped ", name);
        JM_TRY(read_wanted(&choice->model, name, file, err));
    }
    jm_status status = check_known(&choice->model, words, choice->name, err);
    const jm__ncu_board *board = board_called(words, choice->model.board);
    choice->another = board != NULL && board != choice->board;
    if (status == JM_OK && choice->another) jm__model_scale(&choice->model, words, board, choice->board);
    if (choice->another || choice->model.shipped || choice->board != choice->file_board)
        choice->scale_u = jm__model_scale_u(board != NULL ? board : choice->board, choice->board);
    if (status != JM_OK) jm__model_free(&choice->model);
    return status;
}

jm_status jm__model_named(jm__board_model *model, const char *wanted, const jm__ncu_words *words,
                          jm_error *err)
{
    size_t last = words->board_count - 1; /* of those that have a model of their own */
    while (last > 0 && strcmp(words->boards[last].name, words->boards[last].profile) != 0)
        last--;
    const char *name = wanted != NULL ? wanted : words->boards[last].name;
    return read_wanted(model, name, wanted != NULL && is_file(wanted), err);
}
