/* Starting helpers, calling them, and waiting until they have put caps back. */
#include "cap/lease/reach.h"

#include "base/clock.h"
#include "base/helper.h"
#include "base/status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* NVML starts in a second if somebody has it open, in several seconds if eight boards wake up. */
#define RESTORE_NS (INT64_C(60) * JM_NS_PER_S)
#define POLL_NS    (INT64_C(5) * JM_NS_PER_MS)

enum { VARIABLE_MAX = PATH_MAX + 32 };

/* ---- start */

static char **environment_of(const char *sim, const char *run_dir)
{
    char texts[2][VARIABLE_MAX];
    const char *list[3] = {NULL};
    size_t count = 0;
    const char *run = run_dir != NULL ? run_dir : getenv("JOULEMAP_RUN");
    if (sim != NULL && sim[0] != '\0') {
        snprintf(texts[count], VARIABLE_MAX, "JOULEMAP_SIM=%s", sim);
        list[count] = texts[count];
        count++;
    }
    if (run != NULL && run[0] != '\0') {
        snprintf(texts[count], VARIABLE_MAX, "JOULEMAP_RUN=%s", run);
        list[count] = texts[count];
    }
    return jm__helper_environment(NULL, list);
}

const char *jm__lease_command(void)
{
    const char *command = getenv("JOULEMAP_CAP");
    return command != NULL && command[strspn(command, " ")] != '\0' ? command : NULL;
}

/* The command's executable: as given, or the first one on PATH. */
static bool find_command(const char *name, char *path, size_t size)
{
    if (strchr(name, '/') == NULL && jm__on_path(name, path, size)) return true;
    snprintf(path, size, "%s", name);
    return strchr(name, '/') != NULL && access(path, X_OK) == 0;
}

/* The arguments in JOULEMAP_CAP, else those of the program beside this library. False: `path` does not exist.
 */
static bool command_words(char *line, size_t size, char **words, size_t capacity, char *path,
                          size_t path_size)
{
    char *state = NULL;
    const char *command = jm__lease_command();
    size_t count = 0;
    snprintf(line, size, "%s", command != NULL ? command : "joulemap-cap serve");
    for (char *word = strtok_r(line, " ", &state); word != NULL && count < capacity;
         word = strtok_r(NULL, " ", &state))
        words[count++] = word;
    words[count] = NULL;
    return command != NULL ? find_command(words[0], path, path_size) : jm__beside(words[0], path, path_size);
}

static jm_status spawn(int end, const char *path, char **words, char **environment, jm_error *err)
{
    int status = 0;
    pid_t child;
    const jm__helper process = {.command = path,
                                .arguments = words,
                                .environment = environment,
                                .input = end,
                                .output = -1,
                                .own_group = true};
    int code = jm__helper_start(&child, &process);
    if (code != 0)
        return jm__fail(err, JM_IO, code, "posix_spawn", "%.300s cannot be started: %s", path,
                        strerror(code));
    /* The helper detaches, and its parent exits at once. */
    (void)jm__helper_reap(child, &status, jm__now_ns() + JM_LEASE_RESTORE_NS);
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 0) return JM_OK;
    const char *command = jm__lease_command();
    jm__fail(err, JM_NO_PERMISSION, 0, NULL, "%.300s did not start: exit code %d",
             command != NULL ? command : path, WEXITSTATUS(status));
    return jm__hint(err, JM_NO_PERMISSION, "%s",
                    command != NULL ? "a sudo rule must allow exactly this command: docs/caps.md" : "");
}

jm_status jm__lease_link_start(jm__lease_link *link, const char *sim, const char *run_dir, jm_error *err)
{
    enum { WORDS = 32 };
    char path[PATH_MAX], line[PATH_MAX], *words[WORDS + 1];
    int ends[2];
    *link = (jm__lease_link){.transport = {.fd = -1}};
    if (!command_words(line, sizeof line, words, WORDS, path, sizeof path)) {
        jm__fail(err, JM_NOT_FOUND, 0, NULL, "the program that sets power caps, %.300s, does not exist",
                 path);
        return jm__hint(err, JM_NOT_FOUND,
                        jm__lease_command() != NULL ? "JOULEMAP_CAP names it" : "install joulemap again");
    }
    char **environment = environment_of(sim, run_dir);
    if (environment == NULL) return jm__no_memory(err, "malloc");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        free(environment);
        return jm__fail(err, JM_IO, errno, "socketpair", "no socket for %.300s: %s", path, strerror(errno));
    }
    jm_status status = spawn(ends[1], path, words, environment, err);
    free(environment);
    close(ends[1]);
    if (status != JM_OK) {
        close(ends[0]);
        return status;
    }
    if (!jm__kept_file_set(&link->file, ends[0]))
        return jm__fail(err, JM_IO, errno, "fstat", "a socket cannot be examined: %s", strerror(errno));
    link->transport.fd = ends[0];
    return JM_OK;
}

void jm__lease_link_close(jm__lease_link *link)
{
    jm__kept_file_close(&link->file);
    link->transport.fd = -1;
}

/* ---- calls */

jm_status jm__lease_link_call(jm__lease_link *link, const jm__request *request, int64_t timeout_ns,
                              json_t **answer, jm_error *err)
{
    int64_t deadline_ns = jm__now_ns() + timeout_ns;
    *answer = NULL;
    if (!jm__kept_file_is_ours(&link->file))
        return jm__fail(err, JM_DEVICE_LOST, 0, NULL, "the program closed the descriptor of its lease");
    jm__transport_result result =
        jm__transport_send(&link->transport, jm__request_json(request), deadline_ns);
    if (result == JM_TRANSPORT_GARBAGE) return jm__no_memory(err, "json_pack");
    /* Receive also after a failed send: the helper may have sent the reason of its end. */
    result = jm__transport_receive(&link->transport, answer, deadline_ns);
    if (result == JM_TRANSPORT_LINE) return JM_OK;
    if (result == JM_TRANSPORT_LATE)
        return jm__fail(err, JM_BUSY, 0, NULL, "the helper of the lease has not answered for %.3g s",
                        (double)timeout_ns / (double)JM_NS_PER_S);
    if (result == JM_TRANSPORT_GARBAGE)
        return jm__fail(err, JM_BAD_DATA, 0, NULL, "the helper of the lease sent an invalid answer");
    return jm__fail(err, JM_DEVICE_LOST, 0, NULL, "the helper of the lease was killed");
}

/* ---- putting back */

jm_status jm__lease_call_once(jm__request_kind kind, const char *uuid, int32_t *index, jm_error *err)
{
    jm__lease_link link;
    jm__request request = {.kind = kind};
    json_t *answer = NULL;
    *index = -1;
    snprintf(request.uuid, sizeof request.uuid, "%s", uuid);
    JM_TRY(jm__lease_link_start(&link, NULL, NULL, err));
    jm_status status = jm__lease_link_call(&link, &request, RESTORE_NS, &answer, err);
    if (status == JM_OK) {
        const json_t *known = json_object_get(answer, "index");
        if (json_is_integer(known)) *index = (int32_t)json_integer_value(known);
        status = jm__answer_status(answer, err);
    }
    json_decref(answer);
    jm__lease_link_close(&link);
    return status;
}

jm_status jm__lease_wait_restored(const jm__lease_folder *folder, const char *uuid, int64_t helper_pid,
                                  int64_t helper_start, int64_t timeout_ns, jm_error *err)
{
    int64_t deadline_ns = jm__now_ns() + timeout_ns;
    jm__lease_state state;
    do {
        int32_t index;
        jm_status read = jm__lease_state_read(&state, folder, uuid, err);
        if (read == JM_NOT_FOUND) return JM_OK;
        if (read != JM_OK) return read;
        if (state.helper_pid != helper_pid || state.helper_start != helper_start) return JM_OK;
        if (!jm__lease_is_held(&state, folder)) {
            jm_status status = jm__lease_call_once(JM_REQUEST_RESTORE, uuid, &index, err);
            return status == JM_NOT_FOUND && index < 0 ? JM_OK : status;
        }
        jm__sleep_ns(POLL_NS);
    } while (jm__now_ns() < deadline_ns);
    jm__fail(err, JM_BUSY, 0, NULL, "GPU %d must still be put back to %.4g W%s%s", (int)state.index,
             state.info.found_w, state.fault[0] != '\0' ? ": " : "", state.fault);
    return jm__hint(err, JM_BUSY, "`joulemap cap restore`");
}
