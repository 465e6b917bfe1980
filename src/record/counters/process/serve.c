/* joulemap-counters from its start to its end: obey commands, decode on time, evaluate in between.
 *
 *     joulemap-counters serve|try PARENT_PID UUID LIBCUPTI...
 */
#include "base/helper.h"
#include "record/counters/helper.h"
#include "record/counters/process/pm.h"

#include <errno.h>
#include <fcntl.h>
#include <joulemap/counters.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- images that were decoded and wait to be evaluated: decoding must keep up with the board, evaluating
 * may lag behind */

/* At 75 kB a sample of 19 counters these are six images: decoded ten times a second, the samples of 0.6 s. */
#define IMAGES_MAX   64
#define IMAGES_BYTES ((size_t)128 << 20)

typedef struct image_ring {
    jm__pm_image items[IMAGES_MAX]; /* their memory is made when it is first needed, and kept */
    size_t first, count;            /* of those that wait; the oldest first */
    size_t evaluated;               /* samples of the oldest one that are done */
} image_ring;

/* One to decode into and one to evaluate there are in any case. */
static size_t most(const jm__pm *pm)
{
    size_t count = IMAGES_BYTES / (pm->image_size > 0 ? pm->image_size : 1);
    return count < 2 ? 2 : count > IMAGES_MAX ? IMAGES_MAX : count;
}

/* To decode into; NULL: there is none, or no memory for it. It waits once it is counted. */
static jm__pm_image *free_image(image_ring *images, const jm__pm *pm)
{
    if (images->count == most(pm)) return NULL;
    jm__pm_image *image = &images->items[(images->first + images->count) % most(pm)];
    if (image->data == NULL) image->data = jm__pm_image_make(pm);
    return image->data != NULL ? image : NULL;
}

static void pop_image(image_ring *images, const jm__pm *pm)
{
    images->first = (images->first + 1) % most(pm);
    images->count--;
    images->evaluated = 0;
}

/* A hundred samples: less than an image holds, and a fraction of what the hardware's buffer does. */
#define DECODE_NS (INT64_C(100) * JM_NS_PER_MS)
enum { NICE = 10 };
enum { RESTARTS = 3, REFUSALS = 60 };
#define RESTART_NS JM_NS_PER_S
/* A recorder that takes nothing for so long is gone, and somebody has a copy of its end of the link. */
enum { TAKES_NOTHING_S = 60 };

typedef struct server {
    int link;     /* commands come in, frames go out */
    int recorder; /* ready once the recorder is gone; -1: this kernel cannot tell */
    jm__pm pm;
    image_ring images;
    bool sampling;
    bool stopping; /* stopped, and not all samples sent yet */
    bool held_up;  /* the last decoding ended as no image was free */
    bool has_sampled;
    int refusals; /* in a row */
    int64_t decode_at_ns;
    /* What was evaluated of the oldest image, on its way into a frame. */
    jm__counter_sample done[JM_PM_IMAGE_SAMPLES];
    size_t done_count;
    unsigned char block[JM_COUNTER_BLOCK_BYTES_MAX];
} server;

/* ---- words */

static bool say(const server *s, jm__frame_kind kind, const void *bytes, size_t size)
{
    return jm__frame_send(s->link, kind, bytes, size, NULL, 0);
}

static void say_fault(const server *s, const jm__pm_error *fault)
{
    (void)jm__frame_send(s->link, JM_FRAME_FAULT, fault->text, strlen(fault->text) + 1, fault->cure,
                         strlen(fault->cure) + 1);
}

static bool say_hello(const server *s)
{
    const jm__chip *chip = &s->pm.chip;
    const jm__frame_hello hello = {.metric_count = (int64_t)chip->metric_count,
                                   .period_ns = chip->interval_ns > 0 ? chip->interval_ns : JM_NS_PER_MS};
    size_t length = 0, size = sizeof chip->name + chip->metric_count * sizeof chip->metrics[0];
    char *texts = malloc(size);
    if (texts == NULL) return false;
    length += (size_t)snprintf(texts, size, "%s", chip->name) + 1;
    for (size_t i = 0; i < chip->metric_count; i++) {
        length += (size_t)snprintf(texts + length, size - length, "%s", chip->metrics[i].name) + 1;
        length += (size_t)snprintf(texts + length, size - length, "%s", chip->metrics[i].unit) + 1;
    }
    bool said = jm__frame_send(s->link, JM_FRAME_HELLO, &hello, sizeof hello, texts, length);
    free(texts);
    return said;
}

/* ---- samples */

/* As many at a time as a block holds. */
static bool send_samples(server *s)
{
    int64_t metrics = (int64_t)s->pm.chip.metric_count, sent = 0, count = (int64_t)s->done_count;
    while (sent < count) {
        int64_t some = count - sent;
        while (jm__counter_block_size(some, metrics) == 0)
            some = (some + 1) / 2;
        const jm__counter_sample *first = &s->done[sent];
        jm__frame_samples head = {.start_ns = first->start_ns, .end_ns = first->end_ns, .count = some};
        for (int64_t i = 1; i < some; i++) {
            if (first[i].start_ns < head.start_ns) head.start_ns = first[i].start_ns;
            if (first[i].end_ns > head.end_ns) head.end_ns = first[i].end_ns;
        }
        jm__counter_block_pack(s->block, head.start_ns, first, some, metrics);
        if (!jm__frame_send(s->link, JM_FRAME_SAMPLES, &head, sizeof head, s->block,
                            jm__counter_block_size(some, metrics)))
            return false;
        sent += some;
    }
    s->done_count = 0;
    return true;
}

/* One sample of the oldest image. */
static bool evaluate_one(server *s)
{
    jm__pm_image *image = &s->images.items[s->images.first];
    if (s->images.evaluated < image->samples) {
        s->done_count += jm__pm_sample(&s->pm, image, s->images.evaluated, &s->done[s->done_count]);
        s->images.evaluated++;
        return true;
    }
    pop_image(&s->images, &s->pm);
    return send_samples(s);
}

/* A full buffer takes no more: begin anew. A sampler whose buffer was full stops and starts, but may then
 * give no samples, and not start a second time (H100, driver 580: CUPTI_ERROR_UNKNOWN), so another is made.
 */
static bool restart(server *s, jm__pm_error *fault)
{
    const int64_t once = 1;
    jm__pm_error ignored = {0};
    while (s->images.count > 0) /* they are of the old one */
        if (!evaluate_one(s)) return false;
    if (!say(s, JM_FRAME_LOST, &once, sizeof once)) return false;
    if (!s->sampling) return true;
    (void)jm__pm_stop(&s->pm, &ignored);
    for (int attempt = 1;; attempt++) {
        jm__pm_disable(&s->pm);
        *fault = (jm__pm_error){0};
        if (jm__pm_start(&s->pm, fault)) return true;
        if (attempt == RESTARTS || fault->settled) return false;
        jm__sleep_ns(RESTART_NS);
    }
}

/* All that the hardware holds, as far as there are free images. */
static bool decode(server *s, jm__pm_error *fault)
{
    bool overflow = false;
    jm__pm_image *image;
    s->decode_at_ns = jm__now_ns() + DECODE_NS;
    do {
        image = free_image(&s->images, &s->pm);
        s->held_up = image == NULL;
        if (s->held_up) break;
        if (!jm__pm_decode(&s->pm, image, fault)) return false;
        overflow = overflow || image->overflow;
        if (image->samples > 0) s->images.count++;
    } while (image->full);
    return !overflow || restart(s, fault);
}

/* ---- commands */

/* Who has sampled may find that another tool took the board's counters meanwhile, and gives them back. */
static bool go_without(server *s, jm__pm_error *fault)
{
    if (!s->has_sampled || ++s->refusals > REFUSALS) return false;
    jm__pm_disable(&s->pm);
    *fault = (jm__pm_error){0};
    return say(s, JM_FRAME_STOPPED, NULL, 0);
}

static bool start(server *s, jm__pm_error *fault)
{
    if (s->sampling || s->stopping) return jm__pm_fail(fault, "", "it was told to start twice");
    if (!jm__pm_start(&s->pm, fault)) return go_without(s, fault);
    s->sampling = s->has_sampled = true;
    s->refusals = 0;
    s->decode_at_ns = jm__now_ns() + DECODE_NS;
    return say(s, JM_FRAME_STARTED, NULL, 0);
}

static bool stop(server *s, jm__pm_error *fault)
{
    if (!s->sampling) return true;
    s->sampling = false;
    s->stopping = true;
    return jm__pm_stop(&s->pm, fault) && decode(s, fault);
}

/* What to do next. */
typedef enum next { GO_ON, LEAVE } next;

/* Commands that are there, or come within `timeout_ms` (-1: for ever). */
static next obey(server *s, int timeout_ms, jm__pm_error *fault)
{
    /* Of the link's other end a forked child of the program has a copy: it may stay open. */
    struct pollfd ready[] = {{.fd = s->link, .events = POLLIN}, {.fd = s->recorder, .events = POLLIN}};
    char command;
    if (poll(ready, 2, timeout_ms) <= 0) return GO_ON;
    if (ready[0].revents == 0) return LEAVE;
    ssize_t count = read(s->link, &command, 1);
    if (count < 0 && errno == EINTR) return GO_ON;
    if (count <= 0 || command == JM_COUNTERS_QUIT) return LEAVE;
    bool obeyed = command == JM_COUNTERS_START  ? start(s, fault)
                  : command == JM_COUNTERS_STOP ? stop(s, fault)
                                                : jm__pm_fail(fault, "", "unknown command %d", command);
    return obeyed ? GO_ON : LEAVE;
}

static int wait_ms(const server *s)
{
    if (s->images.count > 0) return 0;
    if (!s->sampling) return -1;
    int64_t left_ns = s->decode_at_ns - jm__now_ns();
    return left_ns > 0 ? (int)(left_ns / JM_NS_PER_MS) + 1 : 0;
}

static void serve(server *s, jm__pm_error *fault)
{
    bool well = say_hello(s);
    while (well && obey(s, wait_ms(s), fault) == GO_ON) {
        if (s->sampling && jm__now_ns() >= s->decode_at_ns) well = decode(s, fault);
        if (well && s->images.count > 0) well = evaluate_one(s);
        if (!s->stopping || s->images.count > 0 || !well) continue;
        if (s->held_up) {
            well = decode(s, fault);
            continue;
        }
        s->stopping = false;
        /* As long as there is a sampler, started or not, the board draws some 35 W more (H100, H200): seen to
         * end with the process; that this does it too is what CUPTI's manual lets expect. */
        jm__pm_disable(&s->pm);
        well = say(s, JM_FRAME_STOPPED, NULL, 0);
    }
    if (s->sampling) (void)jm__pm_stop(&s->pm, &(jm__pm_error){0});
}

/* ---- start and end */

/* The recorder has a child no longer: a program that waits for all of its children would wait for this one
 * too. False in the process that is to end at once, or if the recorder is gone. */
static bool leave_home(server *s, pid_t recorder)
{
    bool gone = getppid() != recorder;
    s->recorder = (int)syscall(SYS_pidfd_open, recorder, 0);
    return !gone && fork() == 0;
}

/* Behind the program in all that it needs. */
static void give_way(void)
{
    const struct sched_param none = {0};
    const struct rlimit no_core = {0};
    setpriority(PRIO_PROCESS, 0, NICE);
    sched_setscheduler(0, SCHED_BATCH, &none);
    setrlimit(RLIMIT_CORE, &no_core);
}

/* The newest libcupti that will do on this board. */
static bool open_board(server *s, const char *uuid, char *const *paths, size_t count, jm__pm_error *fault)
{
    static jm__pm_libraries all;
    size_t device;
    if (!jm__pm_find_device(&device, uuid, fault)) return false;
    if (!jm__pm_libraries_load(&all, paths, count, fault)) return false;
    for (size_t i = 0; i < all.count; i++) {
        jm__pm_error another = {0};
        if (jm__pm_open(&s->pm, &all.items[i], device, &another)) return true;
        if (i == 0 || another.settled) *fault = another; /* of those that could be otherwise the newest's */
        if (another.settled) break;
    }
    return false;
}

/* `try`: take the board's counters for a moment, and give them back. */
static bool try_board(server *s, jm__pm_error *fault)
{
    bool works = jm__pm_start(&s->pm, fault) && jm__pm_stop(&s->pm, fault);
    jm__pm_disable(&s->pm);
    return works && say_hello(s);
}

int jm_counters_serve(int argc, char **argv)
{
    static server s; /* half a megabyte */
    jm__pm_error fault = {0};
    bool serving = argc > 3 && strcmp(argv[1], "serve") == 0;
    if (argc < 4 || (!serving && strcmp(argv[1], "try") != 0)) return jm_status_exit_code(JM_USAGE);
    s.link = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (s.link < 0 || nowhere < 0) return jm_status_exit_code(JM_IO);
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO); /* what a library prints of itself goes nowhere */
    setsockopt(s.link, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){.tv_sec = TAKES_NOTHING_S},
               sizeof(struct timeval));
    jm__helper_close_others(s.link);
    if (!leave_home(&s, (pid_t)strtol(argv[2], NULL, 10))) _exit(0);
    give_way();
    if (open_board(&s, argv[3], argv + 4, (size_t)(argc - 4), &fault)) {
        if (serving)
            serve(&s, &fault);
        else
            (void)try_board(&s, &fault);
        jm__pm_disable(&s.pm);
    }
    if (fault.text[0] != '\0') say_fault(&s, &fault);
    _exit(0); /* a driver may hang in what it does at exit */
}
