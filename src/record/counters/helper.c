/* joulemap-counters: starting it, frames, and checking what it sends. */
#include "record/counters/helper.h"

#include "base/clock.h"
#include "base/helper.h"
#include "base/plain.h"
#include "record/cupti/search.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- sending and reading frames */

enum { ROOM = JM_FRAME_BYTES_MAX + sizeof(jm__frame_head) };

static int64_t cpu_ns(void)
{
    struct timespec used = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

static bool send_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

bool jm__frame_send(int fd, jm__frame_kind kind, const void *head, size_t head_size, const void *rest,
                    size_t rest_size)
{
    const jm__frame_head first = {.magic = JM_FRAME_MAGIC,
                                  .kind = (uint32_t)kind,
                                  .size = (uint32_t)(head_size + rest_size),
                                  .cpu_ns = cpu_ns()};
    return send_all(fd, &first, sizeof first) && send_all(fd, head, head_size) &&
           send_all(fd, rest, rest_size);
}

/* Where to read the next bytes and how many fit; NULL: no memory. */
static void *room_of(jm__frame_reader *reader, size_t *size)
{
    if (reader->bytes == NULL) reader->bytes = malloc(ROOM);
    if (reader->bytes == NULL) return NULL;
    if (reader->from > 0) memmove(reader->bytes, reader->bytes + reader->from, reader->to - reader->from);
    reader->to -= reader->from;
    reader->from = 0;
    *size = ROOM - reader->to;
    return reader->bytes + reader->to;
}

/* A received frame: `data` has head.size bytes, unaligned. */
typedef struct frame {
    jm__frame_head head;
    const unsigned char *data;
} frame;

typedef enum frame_state { FRAME_WAIT, FRAME_READY, FRAME_GARBAGE } frame_state;

/* The next complete frame; valid until the next call of room_of. */
static frame_state next_frame(jm__frame_reader *reader, frame *received)
{
    if (reader->to - reader->from < sizeof received->head) return FRAME_WAIT;
    memcpy(&received->head, reader->bytes + reader->from, sizeof received->head);
    if (received->head.magic != JM_FRAME_MAGIC || received->head.zero != 0 ||
        received->head.size > JM_FRAME_BYTES_MAX || received->head.cpu_ns < 0)
        return FRAME_GARBAGE;
    size_t frame_size = sizeof received->head + received->head.size;
    if (reader->to - reader->from < frame_size) return FRAME_WAIT;
    received->data = reader->bytes + reader->from + sizeof received->head;
    reader->from += frame_size;
    return FRAME_READY;
}

/* Exactly `count` texts of a frame, from `offset` to its end; false if they are not there. */
static bool split_texts(const frame *received, size_t offset, const char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = (const char *)received->data + offset;
        if (offset >= received->head.size) return false;
        size_t length = strnlen(text, received->head.size - offset);
        if (offset + length == received->head.size) return false;
        texts[i] = text;
        offset += length + 1;
    }
    return offset == received->head.size;
}

/* A frame of samples as a block of a set; false if it is invalid. */
static bool block_of(const frame *received, int64_t metric_count, jm__counter_block *block)
{
    jm__frame_samples samples;
    if (received->head.size < sizeof samples) return false;
    memcpy(&samples, received->data, sizeof samples);
    *block = (jm__counter_block){
        .start_ns = samples.start_ns,
        .end_ns = samples.end_ns,
        .count = samples.count,
        .data = {received->data + sizeof samples, received->head.size - sizeof samples},
    };
    return jm__counter_block_is_sound(block, metric_count);
}

/* ---- finding the command and its libraries */

enum { VARIABLE_MAX = PATH_MAX + 32, VARIABLES_MAX = 5 };

/* Variables that are added to the helper's environment. */
typedef struct variables {
    char texts[VARIABLES_MAX][VARIABLE_MAX];
    const char *list[VARIABLES_MAX + 1];
    size_t count;
} variables;

static void add_variable(variables *v, const char *name, const char *value)
{
    snprintf(v->texts[v->count], VARIABLE_MAX, "%s=%s", name, value);
    v->list[v->count] = v->texts[v->count];
    v->count++;
}

/* Uses the simulated board's libcupti and libcuda, unless JOULEMAP_CUDA names others. */
static bool find_simulated(jm__counter_launch *launch, variables *v, const char *sim, const char *run_dir)
{
    char cuda[PATH_MAX], *cupti = launch->libraries.items[0].path;
    const char *override = getenv("JOULEMAP_CUDA");
    add_variable(v, "JOULEMAP_SIM", sim);
    if (run_dir != NULL) add_variable(v, "JOULEMAP_RUN", run_dir);
    if (override != NULL && override[0] != '\0') return true;
    if (!jm__beside("sim/libcupti.so", cupti, sizeof launch->libraries.items[0].path) ||
        !jm__beside("sim/libcuda.so.1", cuda, sizeof cuda))
        return false;
    launch->libraries.count = 1;
    add_variable(v, "JOULEMAP_CUPTI", cupti);
    add_variable(v, "JOULEMAP_CUDA", cuda);
    return true;
}

void jm__counter_launch_find(jm__counter_launch *launch, const char *command, const char *sim,
                             const char *run_dir)
{
    /* All boards in the order of their slots: the requested one is found by its UUID. */
    static const char *const unset[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", NULL};
    char program[PATH_MAX];
    variables *v = calloc(1, sizeof *v);
    *launch = (jm__counter_launch){0};
    if (command != NULL)
        snprintf(launch->command, sizeof launch->command, "%s", command);
    else if (!jm__beside("joulemap-counters", launch->command, sizeof launch->command))
        snprintf(launch->error, sizeof launch->error, "the command that samples them, %.140s, is not there",
                 launch->command);
    if (v != NULL && launch->error[0] == '\0') {
        if (sim != NULL && !find_simulated(launch, v, sim, run_dir))
            snprintf(launch->error, sizeof launch->error, "this build has none of the simulated board");
        if (sim == NULL) add_variable(v, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
        if (launch->libraries.count == 0)
            jm__cupti_search(&launch->libraries, jm__cupti_program(program, sizeof program), true);
        launch->environment = jm__helper_environment(unset, v->list);
    }
    if (launch->environment == NULL && launch->error[0] == '\0')
        snprintf(launch->error, sizeof launch->error, "no memory to start their sampler");
    free(v);
}

void jm__counter_launch_free(jm__counter_launch *launch)
{
    free(launch->environment);
    launch->environment = NULL;
}

/* CUDA starts within a second on a free board, within several if eight processes start it. */
#define PREPARE_MAX_NS (30 * JM_NS_PER_S)
/* It sends ten times a second, and a start or stop is one call; the machine may be busy. */
#define SILENCE_MAX_NS (10 * JM_NS_PER_S)
/* Stamps may be ahead by the difference of two clocks. */
#define AHEAD_MAX_NS JM_NS_PER_S
/* Limits on samples: twenty times the rate of one per millisecond, and a burst. */
#define SAMPLES_A_S   20000
#define SAMPLES_AHEAD 100000
/* A process that hangs in the kernel may survive SIGKILL for some time. */
#define DEATH_NS JM_NS_PER_S

__attribute__((format(printf, 2, 3))) static void fail(jm__counter_helper *helper, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    jm__vprint(helper->error, sizeof helper->error, format, args);
    va_end(args);
    jm__counter_helper_end(helper, 0);
}

static void set_state(jm__counter_helper *helper, jm__counter_state state)
{
    helper->state = state;
    helper->since_ns = jm__now_ns();
}

/* Reaps the started process, the helper's parent, and the helper itself if this process adopts orphans (the
 * first process of a container). */
static void reap(const jm__counter_helper *helper, int64_t until_ns)
{
    while (helper->group > 0) {
        pid_t got = waitpid(-helper->group, NULL, WNOHANG);
        if (got < 0 || (got == 0 && jm__now_ns() >= until_ns)) return;
        if (got == 0) jm__sleep_ns(JM_NS_PER_MS);
    }
}

/* ---- start */

static int spawn(jm__counter_helper *helper, const jm__counter_launch *launch, const char *task,
                 const char *uuid)
{
    char parent[24];
    const char *texts[JM_CUPTI_CANDIDATES_MAX + 5] = {"joulemap-counters", task, parent, uuid};
    int ends[2];
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    for (size_t i = 0; i < launch->libraries.count; i++)
        texts[4 + i] = launch->libraries.items[i].path;
    char *arguments[sizeof texts / sizeof texts[0]];
    memcpy(arguments, texts, sizeof arguments); /* posix_spawn takes no const */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
    const jm__helper process = {.command = launch->command,
                                .arguments = arguments,
                                .environment = launch->environment,
                                .input = ends[1],
                                .output = ends[1],
                                .own_group = true};
    int code = jm__kept_file_set(&helper->link, ends[0]) ? 0 : EBADF;
    if (code == 0) code = jm__helper_start(&helper->group, &process);
    if (code != 0) helper->group = 0;
    close(ends[1]);
    return code;
}

void jm__counter_helper_start(jm__counter_helper *helper, const jm__counter_launch *launch, const char *task,
                              const jm_board *board)
{
    *helper = (jm__counter_helper){.began_ns = jm__now_ns()};
    set_state(helper, JM_COUNTERS_PREPARING);
    if (board->mig) {
        fail(helper, "the board is in MIG mode, where counters cannot be sampled");
    } else if (launch->error[0] != '\0') {
        fail(helper, "%s", launch->error);
    } else {
        int code = spawn(helper, launch, task, board->uuid);
        if (code != 0) fail(helper, "%.120s cannot be started: %.60s", launch->command, strerror(code));
    }
}

bool jm__board_has_counters(const jm_board *board)
{
    return jm_board_kind_of(board) == JM_BOARD_GPU && board->uuid[0] != '\0';
}

/* ---- received frames */

static bool is_text(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~') return false;
    return true;
}

/* Every second text, as a JSON array. */
static char *json_of(const char *const *texts, int64_t count)
{
    json_t *array = json_array();
    for (int64_t i = 0; array != NULL && i < count; i++)
        if (json_array_append_new(array, json_string(texts[2 * i])) != 0) {
            json_decref(array);
            array = NULL;
        }
    char *text = array == NULL ? NULL : json_dumps(array, JSON_COMPACT);
    json_decref(array);
    return text;
}

static bool take_hello(jm__counter_helper *helper, const frame *received)
{
    const char *texts[1 + 2 * JM_COUNTER_METRICS_MAX];
    jm__frame_hello hello;
    if (helper->state != JM_COUNTERS_PREPARING || received->head.size < sizeof hello) return false;
    memcpy(&hello, received->data, sizeof hello);
    if (hello.metric_count < 1 || hello.metric_count > JM_COUNTER_METRICS_MAX || hello.period_ns < 0)
        return false;
    size_t count = 1 + 2 * (size_t)hello.metric_count;
    if (!split_texts(received, sizeof hello, texts, count)) return false;
    for (size_t i = 0; i < count; i++)
        if (!is_text(texts[i]) || texts[i][0] == '\0') return false;
    helper->metric_count = hello.metric_count;
    helper->period_ns = hello.period_ns;
    snprintf(helper->chip, sizeof helper->chip, "%s", texts[0]);
    helper->metrics = json_of(texts + 1, hello.metric_count);
    helper->units = json_of(texts + 2, hello.metric_count);
    set_state(helper, JM_COUNTERS_IDLE);
    if (helper->metrics == NULL || helper->units == NULL) fail(helper, "no memory for their names");
    return true;
}

static bool take_samples(jm__counter_helper *helper, const frame *received, jm__counter_take *take,
                         void *context)
{
    jm__counter_block block;
    int64_t now_ns = jm__now_ns();
    if (helper->state != JM_COUNTERS_SAMPLING && helper->state != JM_COUNTERS_STOPPING) return false;
    if (!block_of(received, helper->metric_count, &block)) return false;
    if (block.start_ns < helper->began_ns - AHEAD_MAX_NS || block.end_ns > now_ns + AHEAD_MAX_NS)
        return false;
    helper->samples += block.count;
    helper->renewing = false;
    double elapsed_s = (double)(now_ns - helper->began_ns) / (double)JM_NS_PER_S;
    if ((double)helper->samples > SAMPLES_AHEAD + SAMPLES_A_S * elapsed_s) return false;
    take(context, &block);
    return true;
}

static bool take_lost(jm__counter_helper *helper, const frame *received)
{
    int64_t times;
    if (received->head.size != sizeof times) return false;
    memcpy(&times, received->data, sizeof times);
    if (times < 1 || times > INT32_MAX) return false;
    helper->lost += times;
    helper->renewing = helper->state == JM_COUNTERS_SAMPLING;
    return true;
}

static bool take_error(jm__counter_helper *helper, const frame *received)
{
    const char *texts[2];
    if (!split_texts(received, 0, texts, 2) || !is_text(texts[0]) || !is_text(texts[1])) return false;
    if (texts[0][0] == '\0') return false;
    snprintf(helper->cure, sizeof helper->cure, "%s", texts[1]);
    fail(helper, "%s", texts[0]);
    return true;
}

static bool change_state(jm__counter_helper *helper, jm__counter_state from, jm__counter_state to)
{
    if (helper->state != from) return false;
    set_state(helper, to);
    return true;
}

static bool take_frame(jm__counter_helper *helper, const frame *received, jm__counter_take *take,
                       void *context)
{
    helper->since_ns = jm__now_ns();
    if (received->head.cpu_ns < helper->cpu_ns) return false;
    helper->cpu_ns = received->head.cpu_ns;
    switch (received->head.kind) {
    case JM_FRAME_HELLO:
        return take_hello(helper, received);
    case JM_FRAME_STARTED:
        return change_state(helper, JM_COUNTERS_STARTING, JM_COUNTERS_SAMPLING);
    case JM_FRAME_SAMPLES:
        return take_samples(helper, received, take, context);
    case JM_FRAME_LOST:
        return take_lost(helper, received);
    case JM_FRAME_STOPPED:
        helper->refused_ns = helper->state == JM_COUNTERS_STARTING ? helper->since_ns : 0;
        return change_state(helper, JM_COUNTERS_STOPPING, JM_COUNTERS_IDLE) ||
               change_state(helper, JM_COUNTERS_STARTING, JM_COUNTERS_IDLE);
    case JM_FRAME_ERROR:
        return take_error(helper, received);
    default:
        return false;
    }
}

static void check_silence(jm__counter_helper *helper)
{
    int64_t silent_ns = jm__now_ns() - helper->since_ns;
    int64_t most_ns = helper->state == JM_COUNTERS_PREPARING ? PREPARE_MAX_NS : SILENCE_MAX_NS;
    if (helper->state != JM_COUNTERS_IDLE && helper->state != JM_COUNTERS_OVER && silent_ns > most_ns)
        fail(helper, "their sampler has not answered for %.3g s", (double)most_ns / (double)JM_NS_PER_S);
}

/* Handles all received frames. READY: the helper is over. */
static frame_state take_frames(jm__counter_helper *helper, jm__counter_take *take, void *context)
{
    for (;;) {
        frame received;
        frame_state next = next_frame(&helper->reader, &received);
        if (next != FRAME_READY) return next;
        if (!take_frame(helper, &received, take, context)) return FRAME_GARBAGE;
        if (helper->state == JM_COUNTERS_OVER) return FRAME_READY;
    }
}

void jm__counter_helper_receive(jm__counter_helper *helper, jm__counter_take *take, void *context)
{
    if (helper->state == JM_COUNTERS_OVER) return;
    if (!jm__kept_file_is_ours(&helper->link)) {
        fail(helper, "the program closed the descriptor of their sampler");
        return;
    }
    size_t size;
    void *room = room_of(&helper->reader, &size);
    if (room == NULL) {
        fail(helper, "no memory for what their sampler says");
        return;
    }
    ssize_t count = recv(jm__counter_helper_fd(helper), room, size, MSG_DONTWAIT);
    if (count > 0) helper->reader.to += (size_t)count;
    frame_state next = take_frames(helper, take, context);
    if (helper->state == JM_COUNTERS_OVER) return;
    reap(helper, 0);
    if (next == FRAME_GARBAGE)
        fail(helper, "their sampler says what cannot be");
    else if (count == 0)
        fail(helper, "their sampler ended without a word");
    else
        check_silence(helper);
}

/* ---- commands */

int jm__counter_helper_fd(const jm__counter_helper *helper)
{
    return helper->link.fd_plus_one - 1;
}

void jm__counter_helper_command(jm__counter_helper *helper, char command)
{
    if (helper->state == JM_COUNTERS_OVER || !jm__kept_file_is_ours(&helper->link)) return;
    /* A helper that is gone or does not read is noticed by its silence. */
    (void)send(jm__counter_helper_fd(helper), &command, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (command == JM_COUNTERS_START) set_state(helper, JM_COUNTERS_STARTING);
    if (command == JM_COUNTERS_STOP) set_state(helper, JM_COUNTERS_STOPPING);
}

/* Has it closed its end of the link, which it does by exiting? */
static bool has_left(const jm__counter_helper *helper, int64_t until_ns)
{
    unsigned char rest[4096];
    while (jm__kept_file_is_ours(&helper->link)) {
        ssize_t count = recv(jm__counter_helper_fd(helper), rest, sizeof rest, MSG_DONTWAIT);
        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return true;
        if (jm__now_ns() >= until_ns) return false;
        if (count < 0) jm__sleep_ns(JM_NS_PER_MS);
    }
    return false;
}

void jm__counter_helper_end(jm__counter_helper *helper, int64_t until_ns)
{
    jm__counter_helper_command(helper, JM_COUNTERS_QUIT);
    /* The group id stays in use while the helper is in it. */
    if (helper->group > 0 && !has_left(helper, until_ns)) kill(-helper->group, SIGKILL);
    reap(helper, jm__now_ns() + DEATH_NS);
    helper->group = 0;
    jm__kept_file_close(&helper->link);
    free(helper->reader.bytes);
    helper->reader = (jm__frame_reader){0};
    free(helper->metrics);
    free(helper->units);
    helper->metrics = helper->units = NULL;
    set_state(helper, JM_COUNTERS_OVER);
}
