/* `joulemap cap search`: which power cap saves most, in a recorded sweep or under a command that runs. */
#include "cli/cap_board.h"
#include "cli/cap_live.h"
#include "cli/json.h"
#include "cli/verb.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LIVE_PROBES = 10,
    STEPS_OF_RANGE = 20, /* about so many caps ... */
    ROUND_W = 5,         /* ... in whole steps of this */
    CLOCKS = 12,
    LAYERS = 12
};

static const double live_drift = .003; /* a window: a choice, for a board that gets warm */
static const double live_gain = .003;  /* a probe of a noisy window is not worth less */

static int read_options(const cli_args *args, jm_cap_plan_options *options)
{
    *options = (jm_cap_plan_options){.size = sizeof *options, .objective = JM_CAP_ED2P};
    static const double least_slowdown = 1e-4; /* 0 would be no bound */
    long long probes = 0;
    const char *objective = cli_get(args, "--objective");
    if (objective != NULL && jm_cap_objective_parse(objective, &options->objective, NULL) != JM_OK)
        return jm_status_exit_code(JM_USAGE); /* the table of options lets no other through */
    if (!cli_get_share(args, "--max-slowdown", least_slowdown, &options->max_slowdown) ||
        !cli_get_number(args, "--probes", 1, JM_CAP_MOST_PROBES, &probes))
        return jm_status_exit_code(JM_USAGE);
    options->most_probes = (size_t)probes;
    return CLI_GO_ON;
}

static int print_text(const cli_args *args, jm_cap_search *search)
{
    char *text = NULL;
    jm_error err = {0};
    jm_status status =
        cli_has(args, "--json")
            ? jm_cap_search_json(search, &text, &err)
            : jm_cap_search_text(search, (size_t)cli_terminal_width(STDOUT_FILENO), &text, &err);
    if (status != JM_OK) return cli_fail(args, &err);
    cli_has(args, "--json") ? cli_write_data(text) : cli_write(text);
    free(text);
    return 0;
}

static int replay(const cli_args *args, const char *path)
{
    jm_cap_plan_options options;
    int code = read_options(args, &options);
    if (code != CLI_GO_ON) return code;
    jm_cap_search *found;
    jm_error err = {0};
    if (jm_cap_replay(&found, path, &options, &err) != JM_OK) return cli_fail(args, &err);
    code = print_text(args, found);
    jm_cap_search_free(found);
    return code;
}

/* ---- what a live search has beside the search's own text */

static int print_saved(const cli_args *args, const cli_cap_saved *saved)
{
    if (saved == NULL) return 0;
    char *text = cli_cap_saved_text(saved, LAYERS);
    if (text == NULL) return cli_error(args, JM_NO_MEMORY, "", "out of memory");
    cli_write(text);
    free(text);
    return 0;
}

static json_t *loaded(char *text_take)
{
    json_t *json = json_loads(text_take, 0, NULL);
    free(text_take);
    return json;
}

static int print_json(const cli_cap_live *live, const cli_cap_saved *saved)
{
    char *text;
    jm_error err;
    if (jm_cap_search_json(live->search, &text, &err) != JM_OK) return cli_fail(live->args, &err);
    json_t *root = loaded(text), *layers = json_null();
    if (saved != NULL) {
        if (jm_diff_json(cli_cap_saved_diff(saved), &text, &err) != JM_OK) {
            json_decref(root);
            return cli_fail(live->args, &err);
        }
        layers = loaded(text);
    }
    json_object_set_new(root, "recording", json_string(live->recorder.path));
    json_object_set_new(root, "failure",
                        live->failure.status == JM_OK ? json_null() : json_string(live->failure.text));
    json_object_set_new(root, "layers", layers);
    return cli_json_write(live->args, root);
}

/* Of the whole recording. What cannot be told of it leaves the search's own figures. */
static int print_found(cli_cap_live *live)
{
    jm_recording *recording = NULL;
    cli_cap_saved *saved = NULL;
    jm_error err;
    int code = 0;
    cli_progress("adding up");
    jm_status status = jm_recording_open(&recording, live->recorder.path, &err);
    if (status == JM_OK && cli_has(live->args, "--phases"))
        status = cli_cap_parts_tell(live, recording, &err);
    if (status == JM_OK) status = cli_cap_saved_create(&saved, live, recording, &err);
    cli_progress(NULL);
    if (status != JM_OK) code = cli_fail(live->args, &err);
    int printed =
        cli_has(live->args, "--json") ? print_json(live, saved) : print_text(live->args, live->search);
    if (printed == 0 && !cli_has(live->args, "--json")) printed = print_saved(live->args, saved);
    cli_cap_saved_free(saved);
    jm_recording_close(recording);
    return printed != 0 ? printed : code;
}

/* ---- set up */

/* The folder of the run that the simulated board belongs to; a real one has none. */
static const char *run_folder(const jm_run *run)
{
    static const char key[] = "JOULEMAP_RUN=";
    for (const char *const *text = jm_run_environment(run); *text != NULL; text++)
        if (strncmp(*text, key, sizeof key - 1) == 0) return *text + sizeof key - 1;
    return NULL;
}

static double clock_limit(const cli_args *args, const char *uuid)
{
    jm_inventory *inventory;
    double clock_mhz = NAN;
    if (jm_inventory_create(&inventory, cli_get(args, "--sim"), NULL) != JM_OK) return NAN;
    for (size_t i = 0; i < jm_inventory_board_count(inventory); i++) {
        const jm_board *board = jm_inventory_board(inventory, i);
        if (strcmp(board->uuid, uuid) == 0) clock_mhz = board->clock_limit_mhz;
    }
    jm_inventory_free(inventory);
    return clock_mhz;
}

/* From the highest down to half of it. */
static size_t find_clocks(const cli_args *args, const char *uuid, double clocks_mhz[CLOCKS])
{
    double most_mhz = cli_has(args, "--clocks") ? clock_limit(args, uuid) : NAN;
    if (!isfinite(most_mhz)) return 0;
    for (int i = 0; i < CLOCKS; i++)
        clocks_mhz[i] = round(most_mhz * (1 - .5 * i / (CLOCKS - 1)));
    return CLOCKS;
}

/* What was found is the reference, and nothing above it but the board's own default. */
static void set_range(jm_cap_plan_options *plan, const jm_cap_board *board)
{
    plan->low_w = board->low_w;
    plan->high_w = fmax(board->cap_w, fmin(board->default_w, board->high_w));
    plan->reference_w = board->cap_w;
    plan->step_w = fmax(ROUND_W, ROUND_W * ceil((plan->high_w - plan->low_w) / STEPS_OF_RANGE / ROUND_W));
    plan->drift = live_drift;
    plan->least_gain = live_gain;
    if (plan->most_probes == 0) plan->most_probes = LIVE_PROBES;
}

static jm_status create_search(cli_cap_live *live, jm_cap_plan_options plan, size_t sweep, jm_error *err)
{
    double clocks_mhz[CLOCKS];
    const jm_cap_board *board = jm_cap_lease_board(live->lease);
    set_range(&plan, board);
    const jm_cap_search_options options = {.size = sizeof options,
                                           .plan = &plan,
                                           .settle_s = live->settle_s,
                                           .window_s = live->window_s,
                                           .sweep_count = sweep,
                                           .seed = (uint64_t)live->recorder.child.start_ns,
                                           .clocks_mhz = clocks_mhz,
                                           .clock_count = find_clocks(live->args, board->uuid, clocks_mhz),
                                           .simulated = board->simulated};
    live->board = board->index;
    if (cli_has(live->args, "--clocks") && options.clock_count == 0)
        cli_tell(live->args, "the GPU does not tell its highest clock, so no bounds of it are tried");
    return jm_cap_search_create(&live->search, &options, err);
}

static jm_status take_lease(cli_cap_live *live, const jm_cap_board *board, jm_error *err)
{
    char who[JM_LEASE_TEXT], *command = cli_child_text(cli_command(live->args));
    snprintf(who, sizeof who, "joulemap cap search -- %s", command != NULL ? command : "");
    free(command);
    const jm_cap_lease_options options = {.size = sizeof options,
                                          .sim = cli_get(live->args, "--sim"),
                                          .run_dir = board->simulated ? run_folder(live->recorder.run) : NULL,
                                          .board = board->index,
                                          .who = who};
    return jm_cap_lease_take(&live->lease, &options, err);
}

static bool read_times(cli_cap_live *live, long long *sweep)
{
    const cli_args *args = live->args;
    live->settle_s = 2;
    live->window_s = 5;
    live->wait_s = 120;
    live->what = (cli_cap_steps){JM_SPAN_STEP, NULL};
    if (cli_has(args, "--span")) live->what = (cli_cap_steps){JM_SPAN_NONE, cli_get(args, "--span")};
    return cli_get_real(args, "--settle", 0, 3600, &live->settle_s) &&
           cli_get_real(args, "--window", 0, 3600, &live->window_s) &&
           cli_get_real(args, "--wait", 0, 86400, &live->wait_s) &&
           cli_get_number(args, "--sweep", 2, JM_CAP_MOST_PROBES / 2, sweep);
}

/* ---- run */

static int exit_code(const cli_cap_live *live, int code)
{
    if (live->stopped && live->recorder.child.signal != 0) code = 0;
    return code == 0 && live->failure.status != JM_OK ? jm_status_exit_code(live->failure.status) : code;
}

/* The board is leased, nothing runs yet. */
static int search_command(cli_cap_live *live)
{
    int code = cli_recorder_run(&live->recorder);
    if (code != CLI_GO_ON) {
        jm_cap_lease_end(live->lease, NULL);
        return code;
    }
    cli_cap_live_search(live);
    code = exit_code(live, cli_recorder_end(&live->recorder));
    if (!live->recorder.has_file) return code;
    int printed = 0;
    if (jm_cap_search_told_count(live->search) > 0)
        printed = print_found(live);
    else if (live->failure.status == JM_OK)
        printed = cli_error(live->args, JM_NOT_FOUND, "", "the command ended before anything was measured");
    cli_recorder_print_summary(&live->recorder);
    return code != 0 ? code : printed;
}

static int begin(cli_cap_live *live, const jm_cap_board *board, const jm_cap_plan_options *plan, size_t sweep)
{
    jm_error err;
    jm_status status = take_lease(live, board, &err);
    /* What stands already: whether one may is known before the command starts. */
    if (status == JM_OK) status = jm_cap_lease_set(live->lease, board->cap_w, NULL, &err);
    if (status == JM_OK) status = create_search(live, *plan, sweep, &err);
    if (status == JM_OK) return CLI_GO_ON;
    jm_cap_lease_end(live->lease, NULL);
    cli_recorder_discard(&live->recorder);
    return cli_fail(live->args, &err);
}

static int live_search(const cli_args *args, const jm_cap_board *board)
{
    cli_cap_live live = {.args = args};
    jm_cap_plan_options plan;
    long long sweep = 0;
    int code = read_options(args, &plan);
    if (code != CLI_GO_ON) return code;
    if (!read_times(&live, &sweep)) return jm_status_exit_code(JM_USAGE);
    code = cli_recorder_start(&live.recorder, args);
    if (code != CLI_GO_ON) return code;
    code = begin(&live, board, &plan, (size_t)sweep);
    if (code == CLI_GO_ON) code = search_command(&live);
    cli_cap_live_free(&live);
    return code;
}

int cli_cap_search(const cli_args *args)
{
    int code = 0;
    const char *path = cli_get(args, "--replay");
    if (path != NULL && cli_command(args) != NULL)
        return cli_usage_error(args, "--replay and a command contradict each other");
    if (path != NULL) return replay(args, path);
    if (cli_command(args) == NULL)
        return cli_usage_error(args, "search needs a command (-- COMMAND) or --replay SWEEP.csv");
    jm_cap_boards *boards = cli_cap_boards(args, &code);
    if (boards == NULL) return code;
    const jm_cap_board *board = cli_cap_board_meant(args, boards, &code);
    if (board != NULL) code = live_search(args, board);
    jm_cap_boards_free(boards);
    return code;
}
