/* The process joulemap-counters: obeys commands, decodes on time, evaluates in between.
 *
 *     joulemap-counters serve|try PARENT_PID UUID LIBCUPTI... */
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

/* ---- decoded images that wait for evaluation: decoding must keep up with the board, evaluation may lag */

/* At 75 kB per sample of 19 counters these are six images: the samples of 0.6 s, decoded ten times a
 * second. */
#define IMAGES_MAX   64
#define IMAGES_BYTES ((size_t)128 << 20)

typedef struct image_ring {
    jm__pm_image items[IMAGES_MAX]; /* allocated on first use and kept */
    size_t first, count;            /* of waiting images, the oldest first */
    size_t evaluated;               /* evaluated samples of the oldest image */
} image_ring;

/* At least two: one to decode into and one to evaluate. */
static size_t images_limit(const jm__pm *pm)
{
    size_t count = IMAGES_BYTES / (pm->image_size > 0 ? pm->image_size : 1);
    return count < 2 ? 2 : count > IMAGES_MAX ? IMAGES_MAX : count;
}

/* An image to decode into; NULL: all are waiting, or no memory. Incrementing `count` makes it wait. */
static jm__pm_image *free_image(image_ring *images, const jm__pm *pm)
{
    if (images->count == images_limit(pm)) return NULL;
    jm__pm_image *image = &images->items[(images->first + images->count) % images_limit(pm)];
    if (image->data == NULL) image->data = jm__pm_image_make(pm);
    return image->data != NULL ? image : NULL;
}

/* A hundred samples: less than an image has, and a fraction of the hardware buffer. */
#define DECODE_NS (INT64_C(100) * JM_NS_PER_MS)
enum { NICE = 10 };
enum { RESTARTS = 3, REFUSALS = 60 };
#define RESTART_NS JM_NS_PER_S
/* If nothing is read for this long the recorder is gone, and another process has a copy of its end of the
 * link. */
enum { TAKES_NOTHING_S = 60 };

typedef struct server {
    int link;     /* receives commands, sends frames */
    int recorder; /* readable once the recorder is gone; -1: the kernel lacks pidfd */
    jm__pm pm;
    image_ring images;
    bool sampling;
    bool stopping;   /* stopped, but not all samples are sent */
    bool is_blocked; /* no image was free in the last decoding */
    bool has_sampled;
    int refusals; /* consecutive */
    int64_t decode_at_ns;
    /* Evaluated samples of the oldest image, for the next frame. */
    jm__counter_sample evaluated[JM_PM_IMAGE_SAMPLES];
    size_t evaluated_count;
    unsigned char block[JM_COUNTER_BLOCK_BYTES_MAX];
} server;

/* ---- sending */

static bool send_frame(const server *s, jm__frame_kind kind, const void *bytes, size_t size)
{
    return jm__frame_send(s->link, kind, bytes, size, NULL, 0);
}

static void send_error(const server *s, const jm__pm_error *error)
{
    (void)jm__frame_send(s->link, JM_FRAME_ERROR, error->text, strlen(error->text) + 1, error->cure,
                         strlen(error->cure) + 1);
}

static bool send_hello(const server *s)
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
    bool sent = jm__frame_send(s->link, JM_FRAME_HELLO, &hello, sizeof hello, texts, length);
    free(texts);
    return sent;
}

/* ---- samples */

/* Sends the evaluated samples in blocks. */
static bool send_samples(server *s)
{
    int64_t metrics = (int64_t)s->pm.chip.metric_count, sent = 0, count = (int64_t)s->evaluated_count;
    while (sent < count) {
        int64_t some = count - sent;
        while (jm__counter_block_size(some, metrics) == 0)
            some = (some + 1) / 2;
        const jm__counter_sample *first = &s->evaluated[sent];
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
    s->evaluated_count = 0;
    return true;
}

/* Evaluates one sample of the oldest image. */
static bool evaluate_one(server *s)
{
    image_ring *images = &s->images;
    const jm__pm_image *image = &images->items[images->first];
    if (images->evaluated < image->samples) {
        s->evaluated_count +=
            jm__pm_sample(&s->pm, image, images->evaluated++, &s->evaluated[s->evaluated_count]);
        return true;
    }
    images->first = (images->first + 1) % images_limit(&s->pm);
    images->count--;
    images->evaluated = 0;
    return send_samples(s);
}

/* Restarts after a full buffer, which stops recording. A sampler whose buffer was full can be stopped and
 * started, but may then give no samples and fail the next start (H100, driver 580: CUPTI_ERROR_UNKNOWN). So a
 * new one is made. */
static bool restart(server *s, jm__pm_error *error)
{
    const int64_t one = 1;
    jm__pm_error ignored = {0};
    while (s->images.count > 0) /* of the old sampler */
        if (!evaluate_one(s)) return false;
    if (!send_frame(s, JM_FRAME_LOST, &one, sizeof one)) return false;
    if (!s->sampling) return true;
    (void)jm__pm_stop(&s->pm, &ignored);
    for (int attempt = 1;; attempt++) {
        jm__pm_disable(&s->pm);
        *error = (jm__pm_error){0};
        if (jm__pm_start(&s->pm, error)) return true;
        if (attempt == RESTARTS || error->settled) return false;
        jm__sleep_ns(RESTART_NS);
    }
}

/* Decodes the hardware buffer into free images. */
static bool decode(server *s, jm__pm_error *error)
{
    bool overflow = false;
    jm__pm_image *image;
    s->decode_at_ns = jm__now_ns() + DECODE_NS;
    do {
        image = free_image(&s->images, &s->pm);
        s->is_blocked = image == NULL;
        if (s->is_blocked) break;
        if (!jm__pm_decode(&s->pm, image, error)) return false;
        overflow = overflow || image->overflow;
        if (image->samples > 0) s->images.count++;
    } while (image->full);
    return !overflow || restart(s, error);
}

/* ---- commands */

/* If it has sampled before, another tool may have taken the counters meanwhile: release them and report that
 * it did not start. */
static bool report_refusal(server *s, jm__pm_error *error)
{
    if (!s->has_sampled || ++s->refusals > REFUSALS) return false;
    jm__pm_disable(&s->pm);
    *error = (jm__pm_error){0};
    return send_frame(s, JM_FRAME_STOPPED, NULL, 0);
}

static bool start(server *s, jm__pm_error *error)
{
    if (s->sampling || s->stopping) return jm__pm_fail(error, "", "it was started twice");
    if (!jm__pm_start(&s->pm, error)) return report_refusal(s, error);
    s->sampling = s->has_sampled = true;
    s->refusals = 0;
    s->decode_at_ns = jm__now_ns() + DECODE_NS;
    return send_frame(s, JM_FRAME_STARTED, NULL, 0);
}

static bool stop(server *s, jm__pm_error *error)
{
    if (!s->sampling) return true;
    s->sampling = false;
    s->stopping = true;
    return jm__pm_stop(&s->pm, error) && decode(s, error);
}

/* Obeys commands, waiting up to `timeout_ms` (-1: for ever). False: it must end. */
static bool obey_commands(server *s, int timeout_ms, jm__pm_error *error)
{
    /* A forked child of the program has a copy of the link's other end, which may stay open. */
    struct pollfd ready[] = {{.fd = s->link, .events = POLLIN}, {.fd = s->recorder, .events = POLLIN}};
    char command;
    if (poll(ready, 2, timeout_ms) <= 0) return true;
    if (ready[0].revents == 0) return false;
    ssize_t count = read(s->link, &command, 1);
    if (count < 0 && errno == EINTR) return true;
    if (count <= 0 || command == JM_COUNTERS_QUIT) return false;
    return command == JM_COUNTERS_START  ? start(s, error)
           : command == JM_COUNTERS_STOP ? stop(s, error)
                                         : jm__pm_fail(error, "", "unknown command %d", command);
}

static int wait_ms(const server *s)
{
    if (s->images.count > 0) return 0;
    if (!s->sampling) return -1;
    int64_t left_ns = s->decode_at_ns - jm__now_ns();
    return left_ns > 0 ? (int)(left_ns / JM_NS_PER_MS) + 1 : 0;
}

static void serve(server *s, jm__pm_error *error)
{
    bool well = send_hello(s);
    while (well && obey_commands(s, wait_ms(s), error)) {
        if (s->sampling && jm__now_ns() >= s->decode_at_ns) well = decode(s, error);
        if (well && s->images.count > 0) well = evaluate_one(s);
        if (!s->stopping || s->images.count > 0 || !well) continue;
        if (s->is_blocked) {
            well = decode(s, error);
            continue;
        }
        s->stopping = false;
        /* While a sampler exists, started or not, the board draws some 30 W more (H100, H200). This was seen
         * to end with the process; by CUPTI's manual disabling ends it as well. */
        jm__pm_disable(&s->pm);
        well = send_frame(s, JM_FRAME_STOPPED, NULL, 0);
    }
    if (s->sampling) (void)jm__pm_stop(&s->pm, &(jm__pm_error){0});
}

/* ---- starting and exiting */

/* Forks, so that the recorder has no child: a program that waits for all of its children would wait for this
 * process too. False in the parent, which must exit, or if the recorder is gone. */
static bool detach(server *s, pid_t recorder)
{
    bool gone = getppid() != recorder;
    s->recorder = (int)syscall(SYS_pidfd_open, recorder, 0);
    return !gone && fork() == 0;
}

/* Gives the measured program priority. */
static void lower_priority(void)
{
    const struct sched_param none = {0};
    const struct rlimit no_core = {0};
    setpriority(PRIO_PROCESS, 0, NICE);
    sched_setscheduler(0, SCHED_BATCH, &none);
    setrlimit(RLIMIT_CORE, &no_core);
}

/* Opens the board with the newest usable libcupti. */
static bool open_board(server *s, const char *uuid, char *const *paths, size_t count, jm__pm_error *error)
{
    static jm__pm_libraries all;
    size_t device;
    if (!jm__pm_find_device(&device, uuid, error)) return false;
    if (!jm__pm_libraries_load(&all, paths, count, error)) return false;
    for (size_t i = 0; i < all.count; i++) {
        jm__pm_error open_error = {0};
        if (jm__pm_open(&s->pm, &all.items[i], device, &open_error)) return true;
        if (i == 0 || open_error.settled)
            *error = open_error; /* the newest library's error, unless one is settled */
        if (open_error.settled) break;
    }
    return false;
}

/* The task "try": takes the board's counters for a moment and releases them. */
static bool try_board(server *s, jm__pm_error *error)
{
    bool works = jm__pm_start(&s->pm, error) && jm__pm_stop(&s->pm, error);
    jm__pm_disable(&s->pm);
    return works && send_hello(s);
}

int jm_counters_serve(int argc, char **argv)
{
    static server s; /* half a megabyte, too large for the stack */
    jm__pm_error error = {0};
    bool serving = argc > 3 && strcmp(argv[1], "serve") == 0;
    if (argc < 4 || (!serving && strcmp(argv[1], "try") != 0)) return jm_status_exit_code(JM_USAGE);
    s.link = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (s.link < 0 || nowhere < 0) return jm_status_exit_code(JM_IO);
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO); /* for output of libraries */
    setsockopt(s.link, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){.tv_sec = TAKES_NOTHING_S},
               sizeof(struct timeval));
    jm__helper_close_others(s.link);
    if (!detach(&s, (pid_t)strtol(argv[2], NULL, 10))) _exit(0);
    lower_priority();
    if (open_board(&s, argv[3], argv + 4, (size_t)(argc - 4), &error)) {
        if (serving)
            serve(&s, &error);
        else
            (void)try_board(&s, &error);
        jm__pm_disable(&s.pm);
    }
    if (error.text[0] != '\0') send_error(&s, &error);
    _exit(0); /* a driver may hang in its exit handlers */
}
