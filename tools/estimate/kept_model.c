/* The rules of kept_model.h. */
#include "estimate/kept_model.h"

#include "base/status.h"
#include "base/vec.h"
#include "model/board_model.h"
#include "record/device/device.h"
#include "record/sample/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One that fits. */
typedef struct candidate {
    char uuid[JM_BOARD_TEXT], path[512];
    bool here; /* of a board of this machine that the file may be of */
} candidate;

typedef struct search {
    jm__kept_model *out;
    const jm__ncu_words *words;
    const jm__ncu_board *board;
    jm__model_fits fits;
    JM_VEC(candidate) found;
    size_t boards_here; /* of this machine, of the kind, at the file's address */
    size_t here;        /* of those, with a model */
} search;

static jm_status take(void *taker, const char *uuid, const char *path, jm_error *err)
{
    search *s = taker;
    jm__board_model model;
    jm_error cause = {0};
    candidate one = {.here = false};
    jm_status status = jm__model_read(&model, path, &cause);
    if (status == JM_NO_MEMORY) return jm__no_memory(err, "jm__kept_model_find");
    if (status != JM_OK) {
        snprintf(s->out->unread, sizeof s->out->unread, "%.255s", cause.text);
        return JM_OK;
    }
    bool fits = model.count > 0 && s->fits(&model, s->words, s->board) && strlen(path) < sizeof one.path;
    jm__model_free(&model);
    if (!fits) return JM_OK;
    snprintf(one.uuid, sizeof one.uuid, "%s", uuid);
    snprintf(one.path, sizeof one.path, "%s", path);
    return jm__vec_push(&s->found, one) ? JM_OK : jm__no_memory(err, "jm__kept_model_find");
}

/* "00000000:06:00.0" against what the file tells; true if it tells nothing. */
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

/* Which of the candidates are this machine's. A machine whose boards cannot be read has none. */
static jm_status look_around(search *s, const jm__ncu_sheet *sheet, jm_error *err)
{
    const jm__device_options options = {.no_cpu = true};
    jm__devices *devices;
    jm__profile profile;
    jm_error none = {0};
    jm_status status = jm__devices_open(&devices, &options, &none);
    if (status == JM_NO_MEMORY) return jm__no_memory(err, "jm__kept_model_find");
    if (status != JM_OK) return JM_OK;
    for (size_t b = 0; b < jm__devices_board_count(devices); b++) {
        const jm_board *board = jm__devices_board(devices, b);
        status = jm__profile_match(&profile, board->name, &none);
        if (status == JM_NO_MEMORY) break;
        if (status != JM_OK) continue;
        if (strcmp(profile.name, s->board->profile) != 0 || !is_at(board->pci, s->words, sheet)) continue;
        s->boards_here++;
        for (size_t i = 0; i < s->found.count; i++) {
            bool same = strcmp(s->found.items[i].uuid, board->uuid) == 0;
            s->found.items[i].here = s->found.items[i].here || same;
            s->here += same;
        }
    }
    jm__devices_close(devices);
    return status == JM_NO_MEMORY ? jm__no_memory(err, "jm__kept_model_find") : JM_OK;
}

static jm_status several(const search *s, jm_error *err)
{
    char names[400] = "";
    size_t used = 0;
    for (size_t i = 0; i < s->found.count; i++) {
        if (s->here > 0 && !s->found.items[i].here) continue;
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
        "several models are kept for boards of the file's kind, and it does not say of which it is: %s",
        names);
    return jm__hint(err, status, "say which: --model FILE, or the shipped one: --model h100, --model h200");
}

static jm_status choose(search *s, jm_error *err)
{
    const candidate *chosen = NULL;
    bool own = s->here == 1 && s->boards_here == 1;
    if (s->found.count == 0) return JM_OK;
    if (s->here > 1 || (s->here == 0 && s->found.count > 1)) return several(s, err);
    for (size_t i = 0; i < s->found.count; i++)
        if (s->here == 0 || s->found.items[i].here) chosen = &s->found.items[i];
    JM_TRY(jm__model_read(&s->out->model, chosen->path, err));
    if (!own) jm__model_is_of_another(&s->out->model);
    memcpy(s->out->path, chosen->path, sizeof s->out->path);
    s->out->why =
        own ? "what calibration learnt of this machine's board, the only one that the file can be of"
            : "the one model that is kept for such boards; the file does not say that it is of that "
              "board: taken as another's, wider";
    return JM_OK;
}

jm_status jm__kept_model_find(jm__kept_model *out, const jm__ncu_words *words, const jm__ncu_board *board,
                              const jm__ncu_sheet *sheet, jm__model_fits fits, jm_error *err)
{
    search s = {.out = out, .words = words, .board = board, .fits = fits};
    *out = (jm__kept_model){.why = ""};
    jm_status status = jm__model_each_kept(take, &s, err);
    if (status == JM_OK && s.found.count > 0) status = look_around(&s, sheet, err);
    if (status == JM_OK) status = choose(&s, err);
    jm__vec_free(&s.found);
    return status;
}
