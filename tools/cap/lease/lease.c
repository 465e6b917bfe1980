/* A lease as its holder has it. */
#include "base/clock.h"
#include "base/helper.h"
#include "base/options.h"
#include "base/status.h"
#include "cap/lease/process.h"
#include "cap/lease/reach.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* The first: NVML starts, a guard may be at work. The others are a call of NVML's each, two and a file. */
#define TAKE_NS  (INT64_C(60) * JM_NS_PER_S)
#define DEATH_NS JM_NS_PER_S

int64_t jm__lease_call_ns = 15 * JM_NS_PER_S;

struct jm_cap_lease {
    jm__lease_link link;
    jm__lease_folder folder;
    jm_cap_board board;
    pid_t owner; /* a forked child has a copy of this, and no lease */
    bool detached, has_set;
    int64_t helper_pid, helper_start;
    bool over; /* the helper is gone, or about to go */
    bool back; /* and what was found is back */
    char why[JM_LEASE_TEXT];
};

/* ---- take */

/* "python train.py" of /proc/self/cmdline. */
static void name_holder(char *who, size_t size)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t count = file == NULL ? 0 : fread(who, 1, size - 1, file);
    if (file != NULL) (void)fclose(file);
    while (count > 0 && who[count - 1] == '\0')
        count--;
    for (size_t i = 0; i < count; i++)
        if ((unsigned char)who[i] < ' ') who[i] = ' '; /* the end of a word, or a line of a script */
    snprintf(who + count, size - count, "%s", count == 0 ? "a program" : "");
}

static jm__request request_of(const jm_cap_lease_options *options)
{
    jm__request request = {.ask = JM_ASK_TAKE,
                           .index = options->board,
                           .for_ns = options->for_ns,
                           .detached = options->detached,
                           .pid = getpid()};
    if (options->uuid != NULL) snprintf(request.uuid, sizeof request.uuid, "%s", options->uuid);
    if (options->who != NULL)
        snprintf(request.who, sizeof request.who, "%s", options->who);
    else
        name_holder(request.who, sizeof request.who);
    return request;
}

static jm_status take(jm_cap_lease *lease, const jm_cap_lease_options *options, jm_error *err)
{
    json_t *answer = NULL;
    const jm__request request = request_of(options);
    JM_TRY(jm__lease_folder_find(&lease->folder, err));
    JM_TRY(jm__lease_link_start(&lease->link, options->sim, options->run_dir, err));
    jm_status status = jm__lease_link_ask(&lease->link, &request, TAKE_NS, &answer, err);
    if (status == JM_OK) status = jm__answer_status(answer, err);
    if (status == JM_OK) {
        jm__answer_board_read(&lease->board, answer);
        lease->helper_pid = json_integer_value(json_object_get(answer, "helper_pid"));
        lease->helper_start = json_integer_value(json_object_get(answer, "helper_start"));
    }
    json_decref(answer);
    return status;
}

jm_status jm_cap_lease_take(jm_cap_lease **out, const jm_cap_lease_options *options, jm_error *err)
{
    jm_cap_lease_options known;
    *out = NULL;
    JM_TRY(jm__options_copy(&known, sizeof known, options, "jm_cap_lease_take", err));
    if (known.for_ns < 0) return jm__fail(err, JM_USAGE, 0, NULL, "a lease cannot be for less than no time");
    if (known.uuid == NULL && known.board < 0)
        return jm__fail(err, JM_NOT_FOUND, 0, NULL, "there is no GPU %d", (int)known.board);
    jm_cap_lease *lease = calloc(1, sizeof *lease);
    if (lease == NULL) return jm__no_memory(err, "calloc");
    lease->owner = getpid();
    lease->detached = known.detached;
    jm_status status = take(lease, &known, err);
    if (status == JM_OK) {
        *out = lease;
        return JM_OK;
    }
    jm__lease_link_close(&lease->link); /* a helper that did take the board sees that */
    free(lease);
    return status;
}

const jm_cap_board *jm_cap_lease_board(const jm_cap_lease *lease)
{
    return &lease->board;
}

/* ---- ask */

static jm_status fail_over(const jm_cap_lease *lease, jm_error *err)
{
    jm_status status = lease->back ? JM_NOT_FOUND : JM_DEVICE_LOST;
    jm__fail(err, status, 0, NULL, "the lease on GPU %d is over: %s", (int)lease->board.index, lease->why);
    return jm__hint(err, status, "%s", lease->back ? "take it again" : "`joulemap cap restore`");
}

/* The helper cannot be spoken with any more: no cap may stay behind. */
static jm_status lose_helper(jm_cap_lease *lease, const jm_error *why, jm_error *err)
{
    jm_error not_back = {0};
    lease->over = true;
    snprintf(lease->why, sizeof lease->why, "%.*s", (int)sizeof lease->why - 1, why->text);
    jm__lease_link_close(&lease->link);
    (void)jm__process_signal(lease->helper_pid, lease->helper_start, SIGKILL);
    lease->back = jm__lease_await_back(&lease->folder, lease->board.uuid, lease->helper_pid,
                                       lease->helper_start, JM_LEASE_BACK_NS, &not_back) == JM_OK;
    if (lease->back) {
        jm__fail(err, JM_DEVICE_LOST, 0, NULL, "%s; GPU %d was put back to %.4g W", lease->why,
                 (int)lease->board.index, lease->board.cap_w);
        return jm__hint(err, JM_DEVICE_LOST, "take the lease again");
    }
    if (err != NULL) *err = not_back;
    return not_back.status;
}

static jm_status ask(jm_cap_lease *lease, const jm__request *request, json_t **answer, jm_error *err)
{
    jm_error fault;
    bool back;
    *answer = NULL;
    if (lease->over) return fail_over(lease, err);
    jm_status status = jm__lease_link_ask(&lease->link, request, jm__lease_call_ns, answer, &fault);
    if (status == JM_NO_MEMORY) {
        if (err != NULL) *err = fault;
        return status;
    }
    if (status != JM_OK) return lose_helper(lease, &fault, err);
    const char *why = jm__answer_over(*answer, &back);
    if (why == NULL) return jm__answer_status(*answer, err);
    lease->over = true;
    lease->back = back;
    snprintf(lease->why, sizeof lease->why, "%s", why);
    return fail_over(lease, err);
}

jm_status jm_cap_lease_set(jm_cap_lease *lease, double cap_w, double *enforced_w, jm_error *err)
{
    const jm__request request = {.ask = JM_ASK_SET, .number = cap_w};
    json_t *answer;
    if (enforced_w != NULL) *enforced_w = NAN;
    if (!isfinite(cap_w) || cap_w <= 0)
        return jm__fail(err, JM_USAGE, 0, NULL, "a power cap is a number of watts above 0");
    jm_status status = ask(lease, &request, &answer, err);
    if (status == JM_OK) lease->has_set = true;
    if (status == JM_OK && enforced_w != NULL) *enforced_w = jm__json_number(answer, "enforced_w");
    json_decref(answer);
    return status;
}

jm_status jm_cap_lease_clock(jm_cap_lease *lease, double clock_mhz, jm_error *err)
{
    const jm__request request = {.ask = JM_ASK_CLOCK, .number = clock_mhz};
    json_t *answer;
    if (!isfinite(clock_mhz) || clock_mhz < 0)
        return jm__fail(err, JM_USAGE, 0, NULL, "a clock is a number of MHz from 0 on");
    jm_status status = ask(lease, &request, &answer, err);
    if (status == JM_OK && clock_mhz > 0) lease->has_set = true;
    json_decref(answer);
    return status;
}

/* ---- end */

static jm_status end(jm_cap_lease *lease, jm_error *err)
{
    const jm__request request = {.ask = JM_ASK_END};
    json_t *answer;
    int status_of_helper;
    if (lease->owner != getpid()) return JM_OK;
    if (lease->detached && lease->has_set && !lease->over) return JM_OK;
    jm_status status = ask(lease, &request, &answer, err);
    json_decref(answer);
    if (status == JM_NO_MEMORY) { /* not even for that word: it hears the link close */
        jm__lease_link_close(&lease->link);
        status = jm__lease_await_back(&lease->folder, lease->board.uuid, lease->helper_pid,
                                      lease->helper_start, JM_LEASE_BACK_NS, err);
    }
    if (lease->over && lease->back) status = JM_OK;
    /* Where orphans go to this process, it is its child. */
    if (status == JM_OK && lease->helper_pid > 0)
        (void)jm__helper_reap((pid_t)lease->helper_pid, &status_of_helper, jm__now_ns() + DEATH_NS);
    return status;
}

jm_status jm_cap_lease_end(jm_cap_lease *lease, jm_error *err)
{
    if (lease == NULL) return JM_OK;
    jm_status status = end(lease, err);
    jm__lease_link_close(&lease->link);
    free(lease);
    return status;
}
