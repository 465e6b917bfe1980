/* Recorders that come to a program and go: what it does while they are there is in their recordings, and it
 * is none the worse for it. The program is tests/native/server.c, started as `joulemap dormant` starts it. */
#include "base/clock.h"
#include "record/timeline/ring_format.h"
#include "record/timeline/which_run.h"

#include <joulemap/joulemap.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SERVER  JM_BUILD_DIR "/tests/native_server"
#define COMMAND JM_BUILD_DIR "/joulemap"
#define FAKE    JM_BUILD_DIR "/tests/libfake_cupti_13.so"

static char folder[] = "/tmp/joulemap-test-attach-XXXXXX";
static char path[96];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/r.joulemap", folder);
    setenv("JOULEMAP_NVML", JM_BUILD_DIR "/sim/libnvidia-ml.so.1", 1);
    setenv("JOULEMAP_SIM", "h200", 1);
    unsetenv("JOULEMAP_RUN");
    unsetenv("JOULEMAP_DORMANT");
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* ---- the program */

typedef struct server {
    pid_t pid;
    int in, out, err; /* our ends */
} server;

typedef struct told { /* by itself, at its end */
    uint64_t rounds, hash, spans, kernels;
} told;

static void become(const int in[2], const int out[2], const int err[2], bool dormant, const char *const *argv)
{
    dup2(in[0], 0);
    dup2(out[1], 1);
    dup2(err[1], 2);
    closefrom(3);
    if (dormant) setenv("JOULEMAP_DORMANT", "1", 1);
    setenv("CUDA_INJECTION64_PATH", JM_BUILD_DIR "/libjoulemap_inject.so", 1);
    setenv("JOULEMAP_CUPTI", FAKE, 1);
    setenv("FAKE_CUPTI", FAKE, 1);
    setenv("LD_LIBRARY_PATH", JM_BUILD_DIR "/tests/fake_cuda", 1);
    union {
        const char *const *borrowed;
        char *const *words;
    } cast = {argv};
    execv(argv[0], cast.words);
    _exit(127);
}

static void await_ready(int out)
{
    char line[8] = "";
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(read(out, line + i, 1), 1);
    assert_string_equal(line, "ready\n");
}

static server start_with(bool dormant, const char *const *argv)
{
    int in[2], out[2], err[2];
    assert_int_equal(pipe2(in, O_CLOEXEC) + pipe2(out, O_CLOEXEC) + pipe2(err, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) become(in, out, err, dormant, argv);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    await_ready(out[0]);
    return (server){pid, in[1], out[0], err[0]};
}
#define START(...) start_with(true, (const char *const[]){SERVER, __VA_ARGS__, NULL})

static void read_all(int fd, char *text, size_t size)
{
    size_t length = 0;
    ssize_t count;
    while (length + 1 < size && (count = read(fd, text + length, size - 1 - length)) > 0)
        length += (size_t)count;
    text[length] = '\0';
    close(fd);
}

/* It has computed what it would have computed alone. */
static told stop_and_check(server *s, size_t threads)
{
    told t = {0};
    int status;
    char out[128], err[256];
    close(s->in);
    read_all(s->out, out, sizeof out);
    read_all(s->err, err, sizeof err);
    assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
    assert_int_equal(status, 0);
    assert_int_equal(sscanf(out, "%" SCNu64 " %" SCNx64 "\n", &t.rounds, &t.hash), 2);
    if (sscanf(err, "%" SCNu64 " %" SCNu64 "\n", &t.spans, &t.kernels) != 2) fail_msg("it printed: %s", err);
    uint64_t hash = 0;
    for (uint64_t round = 1; threads == 1 && round <= t.rounds; round++)
        hash = (hash ^ round) * UINT64_C(1099511628211);
    if (threads == 1) assert_int_equal(t.hash, hash);
    return t;
}

/* ---- recorders */

static jm_run *record(void)
{
    jm_error err = {0};
    jm_run *run;
    jm_run_options options = {
        .size = sizeof options, .path = path, .overwrite = true, .no_cpu = true, .counters = -1};
    if (jm_run_start(&run, &options, &err) != JM_OK) fail_msg("%s (%s)", err.text, err.hint);
    return run;
}

static jm_following follow(jm_run *run, pid_t pid)
{
    jm_error err = {0};
    jm_following how;
    if (jm_run_follow(run, pid, true, &how, &err) != JM_OK) fail_msg("%s (%s)", err.text, err.hint);
    return how;
}

static void await_following(jm_run *run, pid_t pid)
{
    for (int tries = 0; follow(run, pid) != JM_FOLLOWING; tries++) {
        assert_true(tries < 500);
        jm__sleep_ns(10 * JM_NS_PER_MS);
    }
}

/* Until both its libraries listen (again). */
static void await_listening(pid_t pid)
{
    struct sockaddr_un address;
    char line[512], names[2][sizeof address.sun_path + 2];
    const char libraries[] = {JM_WRITER_CORE, JM_WRITER_NVTX};
    for (size_t i = 0; i < 2; i++) {
        jm__dormant_address(&address, pid, libraries[i]);
        snprintf(names[i], sizeof names[i], "@%s\n", address.sun_path + 1);
    }
    for (int tries = 0, found = 0; found < 2; tries++) {
        assert_true(tries < 500);
        if (tries > 0) jm__sleep_ns(10 * JM_NS_PER_MS);
        FILE *file = fopen("/proc/net/unix", "re");
        assert_non_null(file);
        found = 0;
        while (fgets(line, sizeof line, file) != NULL) /* those that accept have this flag */
            found += strstr(line, " 00010000 ") != NULL &&
                     (strstr(line, names[0]) != NULL || strstr(line, names[1]) != NULL);
        fclose(file);
    }
}

static jm_status refusal(pid_t pid, const char *words)
{
    jm_error err = {0};
    jm_following how;
    jm_run *run = record();
    jm_status status = jm_run_follow(run, pid, true, &how, &err);
    if (status != JM_OK && strstr(err.text, words) == NULL) fail_msg("%s", err.text);
    jm_run_discard(run);
    return status;
}

static void end(jm_run *run)
{
    jm_error err = {0};
    if (jm_run_stop(run, &err) != JM_OK) fail_msg("%s", err.text);
    jm_run_free(run);
}

static uint64_t count(const char *what)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    char sql[160];
    snprintf(sql, sizeof sql, "SELECT %s", what);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    uint64_t rows = (uint64_t)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return rows;
}

/* Spans and kernels in the recording just made; nothing was lost, and all kernels are in the layer. */
static void add_recorded(told *sum)
{
    sum->spans += count("count(*) FROM spans");
    sum->kernels += count("count(*) FROM kernels");
    assert_int_equal(count("count(*) FROM losses"), 0);
}

/* Until each of its threads has recorded 20 spans more, and its libcupti as many kernels. */
static void await_recorded(const server *s)
{
    assert_int_equal(write(s->in, "recorded\n", 9), 9);
    await_ready(s->out);
}

static void record_some(told *sum, const server *s)
{
    jm_run *run = record();
    await_following(run, s->pid);
    await_recorded(s);
    end(run);
    add_recorded(sum);
}

/* ---- what a process holds */

typedef struct held {
    long threads, descriptors, maps, rss_kb, shm_kb;
} held;

static long entries(pid_t pid, const char *what)
{
    char name[64];
    long found = -2; /* . and .. */
    snprintf(name, sizeof name, "/proc/%d/%s", (int)pid, what);
    DIR *list = opendir(name);
    assert_non_null(list);
    while (readdir(list) != NULL)
        found++;
    closedir(list);
    return found;
}

static held look(pid_t pid)
{
    held h = {.threads = entries(pid, "task"), .descriptors = entries(pid, "fd")};
    char name[64], line[512];
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(name, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL)
        h.maps++;
    fclose(file);
    snprintf(name, sizeof name, "/proc/%d/status", (int)pid);
    file = fopen(name, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL)
        sscanf(line, "VmRSS: %ld kB", &h.rss_kb);
    fclose(file);
    struct statvfs shm;
    assert_int_equal(statvfs("/dev/shm", &shm), 0);
    h.shm_kb = (long)((shm.f_blocks - shm.f_bfree) * shm.f_frsize / 1024);
#ifdef __SANITIZE_THREAD__ /* it has mappings of its own, and beside the first of ours a thread */
    h.threads -= h.threads > 1;
    h.maps = h.rss_kb = 0;
#endif
    return h;
}

static long folders_in_shm(pid_t recorder)
{
    char prefix[64];
    long found = 0;
    snprintf(prefix, sizeof prefix, "joulemap-%u-%d-", (unsigned)getuid(), (int)recorder);
    DIR *list = opendir("/dev/shm");
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list)) != NULL;)
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) found++;
    closedir(list);
    return found;
}

/* Once nothing of it has changed for a tenth of a second: a recorder that has left is let go bit by bit. */
static held settled(pid_t pid)
{
    held last = look(pid);
    for (int tries = 0, same = 0; same < 10; tries++) {
        assert_true(tries < 1000);
        jm__sleep_ns(10 * JM_NS_PER_MS);
        held now = look(pid);
        bool alike =
            now.threads == last.threads && now.descriptors == last.descriptors && now.maps == last.maps;
        same = alike ? same + 1 : 0;
        last = now;
    }
    return last;
}

static void await_threads(pid_t pid, long requested)
{
    for (int tries = 0; look(pid).threads != requested; tries++) {
        assert_true(tries < 1500);
        jm__sleep_ns(10 * JM_NS_PER_MS);
    }
}

static void print_held(const char *when, const held *h)
{
    printf("%s: %ld threads, %ld descriptors, %ld mappings, %ld kB resident, %ld kB in /dev/shm\n", when,
           h->threads, h->descriptors, h->maps, h->rss_kb, h->shm_kb);
}

/* Another recorder, which is another process. */
static pid_t start_command(pid_t pid)
{
    char number[16], file[112];
    snprintf(number, sizeof number, "%d", (int)pid);
    snprintf(file, sizeof file, "%s/other.joulemap", folder);
    pid_t child = fork();
    if (child != 0) return child;
    int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, 2);
    execl(COMMAND, COMMAND, "attach", "--no-cpu", "--no-counters", "-f", "-o", file, number, (char *)NULL);
    _exit(127);
}

static int run_command(pid_t pid)
{
    int status;
    pid_t recorder = start_command(pid);
    assert_int_equal(waitpid(recorder, &status, 0), recorder);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- the promises */

static void test_recorders_that_come_and_go_leak_and_lose_nothing(void **state)
{
    (void)state;
    const char *requested = getenv("JOULEMAP_TEST_CYCLES");
    int cycles = requested == NULL ? 12 : atoi(requested);
    server s = START("--threads", "2");
    told sum = {0};
    record_some(&sum, &s); /* CUPTI is loaded and stays */
    held before = settled(s.pid);
    for (int i = 0; i < cycles; i++)
        record_some(&sum, &s);
    held after = settled(s.pid); /* each thread has begun a span since, and given up its ring */
    print_held("before", &before);
    print_held("after", &after);
    told own = stop_and_check(&s, 2);
    printf("%d times: %" PRIu64 " spans and %" PRIu64 " kernels told, %" PRIu64 " and %" PRIu64 " recorded\n",
           cycles + 1, own.spans, own.kernels, sum.spans, sum.kernels);
    assert_int_equal(after.threads, before.threads);
    assert_int_equal(after.descriptors, before.descriptors);
    assert_int_equal(after.maps, before.maps);
    assert_true(after.rss_kb <= before.rss_kb + 512); /* the allocator's arenas; a ring is 2,048 */
    assert_int_equal(folders_in_shm(getpid()), 0);
    assert_int_equal(sum.spans, own.spans);
    assert_int_equal(sum.kernels, own.kernels);
    assert_true(own.kernels > 0);
}

static void test_dormant_program_records_nothing_and_holds_a_socket_a_library(void **state)
{
    (void)state;
    server s = START("--threads", "1");
    await_threads(s.pid, 1 + 1 + 2); /* main, its worker, one of ours a library */
    held h = look(s.pid);
    assert_int_equal(h.descriptors, 3 + 2);
    told own = stop_and_check(&s, 1);
    assert_int_equal(own.spans, 0);
    assert_int_equal(own.kernels, 0);
}

/* Some calls take it: unshare, setns. Its spans look who calls, and no thread is left by who has gone. */
static void test_dormant_program_of_one_thread_has_one_but_while_it_is_recorded(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* its own thread is beside, so no thread of ours ends */
#endif
    server s = START("--alone");
    assert_int_equal(look(s.pid).threads, 1);
    told sum = {0};
    for (int i = 0; i < 2; i++) {
        record_some(&sum, &s);
        assert_int_equal(sum.kernels, 0);
        await_threads(s.pid, 1);
    }
    told own = stop_and_check(&s, 1);
    assert_true(own.spans > 0);
    assert_int_equal(sum.spans, own.spans);
}

static void test_program_of_one_thread_without_a_span_is_recorded_later(void **state)
{
    (void)state;
    server idle = START("--alone", "--idle");
    jm_run *run = record();
    assert_int_equal(follow(run, idle.pid), JM_FOLLOWING_LATER); /* it has used spans, and waits for input */
    assert_int_equal(write(idle.in, "\n", 1), 1);
    await_ready(idle.out);
    await_following(run, idle.pid);
    end(run);
    stop_and_check(&idle, 1);
}

static void test_layer_and_kernels_of_a_program_that_runs_already(void **state)
{
    (void)state;
    server s = START("--threads", "1");
    told sum = {0};
    record_some(&sum, &s);
    assert_true(sum.kernels >= 20);
    /* Those launched between a begin that nobody heard and the first span are in none. */
    assert_true(count("count(*) FROM kernels WHERE span_id IS NULL OR span_id = 0") <= 1);
    assert_true(count("count(*) FROM names WHERE text = 'model.layer'") == 1);
    stop_and_check(&s, 1);
}

static void test_second_recorder_is_refused_and_harms_nothing(void **state)
{
    (void)state;
    server s = START("--threads", "1");
    jm_run *run = record();
    await_following(run, s.pid);
    assert_int_equal(run_command(s.pid), jm_status_exit_code(JM_BUSY));
    told sum = {0}, own;
    end(run);
    add_recorded(&sum);
    own = stop_and_check(&s, 1);
    assert_int_equal(sum.spans, own.spans);
}

/* A CUPTI that hung is no reason for good. */
static void test_program_whose_cupti_hung_can_be_recorded_once_it_is_back(void **state)
{
    (void)state;
    server s = START("--hang");
    jm_run *run = record();
    await_following(run, s.pid);
    assert_int_equal(write(s.in, "\n", 1), 1);
    await_ready(s.out); /* our thread is in it */
    end(run);
    assert_true(count("count(*) FROM events WHERE text LIKE '%CUPTI did not return%'") == 1);
    assert_int_equal(refusal(s.pid, "cannot be recorded yet: a thread of the last recording"), JM_BUSY);
    assert_int_equal(write(s.in, "\n", 1), 1);
    await_ready(s.out);
    for (int tries = 0; refusal(s.pid, "cannot be recorded yet") != JM_OK; tries++) {
        assert_true(tries < 500);
        jm__sleep_ns(10 * JM_NS_PER_MS);
    }
    told sum = {0};
    record_some(&sum, &s);
    assert_true(sum.kernels >= 20);
    stop_and_check(&s, 1);
}

/* Says "busy" and closes, with the recorder's message unread: what that reads first is "connection reset". */
_Noreturn static void refuse_unheard(int ready)
{
    struct sockaddr_un address;
    socklen_t size = jm__dormant_address(&address, getpid(), JM_WRITER_CORE);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int ear = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (bind(ear, (const struct sockaddr *)&address, size) != 0 || listen(ear, 4) != 0 ||
        write(ready, "ready\n", 6) != 6)
        _exit(1);
    for (;;) {
        static const char answer[] = {JM_DORMANT_BUSY, 'm', 'e'};
        struct pollfd line = {.fd = accept(ear, NULL, NULL), .events = POLLIN};
        poll(&line, 1, -1);
        if (send(line.fd, answer, sizeof answer, 0) != sizeof answer) _exit(2);
        close(line.fd);
    }
}

static void test_refusal_is_heard_from_one_that_hung_up(void **state)
{
    (void)state;
    int ready[2];
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) refuse_unheard(ready[1]);
    await_ready(ready[0]);
    assert_int_equal(refusal(pid, "is being recorded already: me"), JM_BUSY);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(ready[0]);
    close(ready[1]);
}

/* One library would be recorded, the other would not. */
_Noreturn static void record_one_library_alone(int ready)
{
    struct sockaddr_un address;
    const char libraries[] = {JM_WRITER_CORE, JM_WRITER_NVTX};
    struct pollfd ears[2] = {{.events = POLLIN}, {.events = POLLIN}};
    char message[JM_DORMANT_MESSAGE_MAX];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < 2; i++) {
        socklen_t size = jm__dormant_address(&address, getpid(), libraries[i]);
        ears[i].fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (bind(ears[i].fd, (const struct sockaddr *)&address, size) != 0 || listen(ears[i].fd, 4) != 0)
            _exit(1);
    }
    if (write(ready, "ready\n", 6) != 6) _exit(1);
    int core = accept(ears[0].fd, NULL, NULL);
    if (recv(core, message, sizeof message, 0) <= 0 || send(core, "r", 1, 0) != 1) _exit(2);
    int nvtx = accept(ears[1].fd, NULL, NULL);
    if (recv(nvtx, message, sizeof message, 0) <= 0 || send(nvtx, "fit cannot", 10, 0) != 10) _exit(3);
    _exit(recv(core, message, sizeof message, 0) == 0 ? 0 : 4);
}

static void test_program_of_which_one_library_refuses_is_not_recorded_by_half(void **state)
{
    (void)state;
    int ready[2], status;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) record_one_library_alone(ready[1]);
    await_ready(ready[0]);
    jm_error err;
    jm_following how;
    jm_run *run = record();
    assert_int_equal(jm_run_follow(run, pid, true, &how, &err), JM_NOT_SUPPORTED);
    assert_non_null(strstr(err.text, "it cannot"));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    end(run);
    close(ready[0]);
    close(ready[1]);
}

static void test_stopped_program_keeps_nobody_waiting(void **state)
{
    (void)state;
    server s = START("--threads", "1");
    jm_run *run = record();
    await_following(run, s.pid);
    end(run);
    kill(s.pid, SIGSTOP);
    int64_t start_ns = jm__now_ns();
    for (int i = 0; i < 8; i++) /* more than its queue holds */
        assert_int_equal(refusal(s.pid, "is stopped"), JM_BUSY);
    assert_true(jm__now_ns() - start_ns < 15 * JM_NS_PER_S);
    kill(s.pid, SIGCONT);
    run = record();
    await_following(run, s.pid);
    kill(s.pid, SIGSTOP);
    end(run);
    assert_int_equal(count("count(*) FROM events WHERE text LIKE '%may be missing'"), 2); /* a library */
    kill(s.pid, SIGCONT);
    told sum = {0};
    record_some(&sum, &s);
    assert_true(sum.spans > 0);
    stop_and_check(&s, 1);
}

/* It has joined: rings are there. */
static void await_rings(pid_t pid)
{
    char name[64], line[512];
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    for (int tries = 0;; tries++) {
        FILE *file = fopen(name, "re");
        assert_non_null(file);
        bool found = false;
        while (fgets(line, sizeof line, file) != NULL)
            found = found || strstr(line, "-i-") != NULL;
        fclose(file);
        if (found) return;
        assert_true(tries < 500);
        jm__sleep_ns(10 * JM_NS_PER_MS);
    }
}

static void test_killed_recorder_leaves_a_dormant_program_that_can_be_recorded(void **state)
{
    (void)state;
    server s = START("--threads", "1");
    told sum = {0};
    record_some(&sum, &s);
    held before = settled(s.pid);
    for (int i = 0; i < 3; i++) {
        pid_t recorder = start_command(s.pid);
        await_rings(s.pid);
        kill(recorder, SIGKILL);
        waitpid(recorder, NULL, 0);
        for (int tries = 0; look(s.pid).threads > before.threads; tries++) { /* the one that flushes */
            assert_true(tries < 300);
            jm__sleep_ns(10 * JM_NS_PER_MS);
        }
    }
    held after = look(s.pid);
    for (int tries = 0; tries < 300;
         tries++) { /* the thread that listens may still be leaving the last one */
        if (after.maps <= before.maps && after.descriptors == before.descriptors) break;
        jm__sleep_ns(10 * JM_NS_PER_MS);
        after = look(s.pid);
    }
    assert_true(after.maps <= before.maps);
    assert_int_equal(after.descriptors, before.descriptors);
    told later = {0};
    record_some(&later, &s);
    assert_true(later.spans > 0 && later.kernels > 0);
    stop_and_check(&s, 1);
}

static void test_program_that_ends_while_it_is_recorded_is_whole(void **state)
{
    (void)state;
    server s = START("--threads", "1");
    jm_run *run = record();
    await_following(run, s.pid);
    await_recorded(&s);
    told own = stop_and_check(&s, 1), sum = {0};
    end(run);
    add_recorded(&sum);
    assert_int_equal(sum.spans, own.spans);
    assert_int_equal(sum.kernels, own.kernels);
}

static void test_program_that_closes_all_descriptors_can_still_be_recorded(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* to it this is a race on descriptors; telling of it, clang 14's fails itself */
#endif
    server s = START("--threads", "1", "--close-all");
    told sum = {0};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(write(s.in, "\n", 1), 1);
        await_ready(s.out);
        await_listening(s.pid);
        record_some(&sum, &s);
    }
    /* While it is recorded the line to the recorder is lost, and with it what comes until the next one is
     * made. */
    jm_run *run = record();
    await_following(run, s.pid);
    assert_int_equal(write(s.in, "\n", 1), 1);
    await_ready(s.out);
    await_listening(s.pid);
    await_following(run, s.pid);
    await_recorded(&s);
    end(run);
    uint64_t kernels = sum.kernels;
    add_recorded(&sum);
    assert_true(sum.kernels > kernels);
    record_some(&sum, &s);
    told own = stop_and_check(&s, 1);
    assert_int_equal(sum.spans, own.spans);
    assert_int_equal(sum.kernels, own.kernels);
}

static pid_t child_of(pid_t parent)
{
    char name[64];
    int pid = 0;
    snprintf(name, sizeof name, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    FILE *file = fopen(name, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &pid), 1);
    fclose(file);
    return (pid_t)pid;
}

static void test_forked_child_is_dormant_by_itself(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* GCC 12's takes the locks of its allocator into a child: if a thread allocates then, the child
               waits for ever */
#endif
    server s = START("--threads", "1", "--fork");
    await_ready(s.out);
    pid_t child = child_of(s.pid);
    jm_run *run = record();
    await_listening(child);
    await_following(run, child);
    for (int tries = 0; count("count(*) FROM spans") == 0; tries++) {
        assert_true(tries < 500);
        jm__sleep_ns(10 * JM_NS_PER_MS);
    }
    end(run);
    told sum = {0}, own = {0};
    add_recorded(&sum);
    assert_true(sum.spans > 0);
    assert_int_equal(count("count(DISTINCT pid) FROM processes"), 1);
    char text[128];
    int status;
    close(s.in);
    read_all(s.err, text, sizeof text);
    read_all(s.out, text + 64, 64);
    assert_int_equal(waitpid(s.pid, &status, 0), s.pid);
    uint64_t parents_spans, parents_kernels;
    assert_int_equal(sscanf(text, "%" SCNu64 " %" SCNu64 "\n%" SCNu64 " %" SCNu64, &own.spans, &own.kernels,
                            &parents_spans, &parents_kernels),
                     4);
    /* Which of the two ends first is chance. */
    assert_int_equal(own.spans + parents_spans, sum.spans);
    assert_int_equal(own.kernels + parents_kernels, sum.kernels);
    assert_true(own.spans == 0 || parents_spans == 0);
}

static void expect(jm_run *run, pid_t pid)
{
    jm_error err = {0};
    if (jm_run_expect(run, pid, true, &err) != JM_OK) fail_msg("%s (%s)", err.text, err.hint);
}

static void test_children_too_short_to_be_found_are_recorded(void **state)
{
    (void)state;
    enum { CHILDREN = 5 };
    server s = START("--alone", "--idle");
    jm_run *run = record();
    expect(run, s.pid);
    for (int i = 0; i < CHILDREN; i++) {
        assert_int_equal(write(s.in, "fork\n", 5), 5);
        await_ready(s.out);
    }
    await_following(run, s.pid);
    await_recorded(&s);
    end(run);
    assert_int_equal(count("count(DISTINCT pid) FROM processes"), 1 + CHILDREN);
    char spans[96];
    snprintf(spans, sizeof spans,
             "count(*) FROM spans s, processes p ON p.id = s.process_id WHERE p.pid <> %d", (int)s.pid);
    assert_int_equal(count(spans), 2 * CHILDREN);
    told sum = {0}, own;
    add_recorded(&sum);
    own = stop_and_check(&s, 1);
    assert_int_equal(sum.spans, own.spans + 2 * CHILDREN);
}

/* Its recorder may end, or be killed, before it has called. */
static void test_who_entered_by_itself_leaves_when_the_run_is_over(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* its own thread is beside, so no thread of ours ends */
#endif
    jm_run *run = record();
    expect(run, getpid());
    server s = START("--alone");
    for (int tries = 0; tries == 0 || count("count(*) FROM spans") == 0; tries++) {
        assert_true(tries < 500);
        jm__sleep_ns(10 * JM_NS_PER_MS);
    }
    jm_run_discard(run);
    await_threads(s.pid, 1);
    told sum = {0};
    record_some(&sum, &s);
    assert_true(sum.spans > 0);
    stop_and_check(&s, 1);
}

static void test_program_that_replaces_itself_joins_again(void **state)
{
    (void)state;
    server s = START("--exec");
    jm_run *run = record();
    await_following(run, s.pid);
    await_recorded(&s);
    assert_int_equal(write(s.in, "\n", 1), 1);
    await_ready(s.out);
    await_following(run, s.pid);
    await_recorded(&s);
    end(run);
    told sum = {0}, own = stop_and_check(&s, 1);
    add_recorded(&sum);
    uint64_t until_then = sum.spans - own.spans; /* of the program before, which could not tell */
    assert_true(own.spans > 0);
    assert_true(until_then > 0);
}

static void test_programs_that_cannot_be_attached_to_are_told_apart(void **state)
{
    (void)state;
    server plain = start_with(false, (const char *const[]){SERVER, NULL});
    jm_run *run = record();
    assert_int_equal(follow(run, plain.pid), JM_FOLLOWING_NOTHING);
    end(run);
    stop_and_check(&plain, 1);
    int status;
    pid_t gone = fork();
    if (gone == 0) _exit(0);
    waitpid(gone, &status, 0);
    assert_int_equal(refusal(gone, "there is no process"), JM_NOT_FOUND);
    pid_t later = fork();
    if (later == 0) {
        setenv("JOULEMAP_DORMANT", "1", 1);
        execlp("sleep", "sleep", "60", (char *)NULL);
        _exit(127);
    }
    run = record();
    jm_following how = JM_FOLLOWING_NOTHING;
    for (int tries = 0; how != JM_FOLLOWING_LATER && tries < 100; tries++) { /* until its exec */
        how = follow(run, later);
        jm__sleep_ns(10 * JM_NS_PER_MS);
    }
    assert_int_equal(how, JM_FOLLOWING_LATER);
    end(run);
    kill(later, SIGKILL);
    waitpid(later, &status, 0);
}

static void await_owner(pid_t pid, uid_t uid)
{
    char name[64];
    struct stat info = {0};
    snprintf(name, sizeof name, "/proc/%d", (int)pid);
    for (int i = 0; i < 5000 && info.st_uid != uid; i++) {
        jm__sleep_ns(JM_NS_PER_MS);
        assert_int_equal(stat(name, &info), 0);
    }
    assert_int_equal(info.st_uid, uid);
}

static void test_another_users_process_is_refused(void **state)
{
    (void)state;
    pid_t others = 1;
    if (geteuid() == 0) {
        others = fork();
        if (others == 0) {
            if (setuid(65534) != 0) _exit(1);
            execlp("sleep", "sleep", "60", (char *)NULL);
            _exit(127);
        }
        await_owner(others, 65534);
    }
    assert_int_equal(refusal(others, "only its own user"), JM_NO_PERMISSION);
    if (others != 1) {
        kill(others, SIGKILL);
        waitpid(others, NULL, 0);
    }
}

/* Names of sockets are anybody's: one who has a program's name, even its own user, keeps nobody from it. */
static void test_program_whose_name_somebody_else_has_is_recorded(void **state)
{
    (void)state;
    int names[2], go[2], in[2];
    assert_int_equal(pipe2(go, O_CLOEXEC) + pipe2(in, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) { /* it becomes the program once its names are taken */
        char byte;
        int out = open("/dev/null", O_RDWR);
        if (read(go[0], &byte, 1) != 1) _exit(126);
        become(in, (const int[]){-1, out}, (const int[]){-1, out}, true, (const char *const[]){SERVER, NULL});
    }
    for (int i = 0; i < 2; i++) {
        struct sockaddr_un address;
        socklen_t size = jm__dormant_address(&address, pid, "cn"[i]);
        names[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(names[i], (const struct sockaddr *)&address, size), 0);
        assert_int_equal(listen(names[i], 5), 0);
    }
    assert_int_equal(write(go[1], "", 1), 1);
    jm_run *run = record();
    jm_following how = JM_FOLLOWING_LATER;
    for (int tries = 0; how != JM_FOLLOWING && tries < 500; tries++) {
        how = follow(run, pid);
        jm__sleep_ns(20 * JM_NS_PER_MS);
    }
    assert_int_equal(how, JM_FOLLOWING);
    end(run);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    for (int i = 0; i < 2; i++) {
        close(names[i]);
        close(go[i]);
        close(in[i]);
    }
}

/* It has become that program, with the environment that it was given. */
static void await_program(pid_t pid, const char *name)
{
    char path_of[64], text[16] = "";
    snprintf(path_of, sizeof path_of, "/proc/%d/cmdline", (int)pid);
    for (int i = 0; i < 5000 && strcmp(text, name) != 0; i++) {
        jm__sleep_ns(JM_NS_PER_MS);
        FILE *file = fopen(path_of, "re");
        assert_non_null(file);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
    }
    assert_string_equal(text, name);
}

static void test_program_under_record_is_refused(void **state)
{
    (void)state;
    jm_run *run = record();
    const char *const *environment = jm_run_environment(run);
    pid_t recorded = fork();
    if (recorded == 0) {
        for (; *environment != NULL; environment++)
            putenv((char *)(uintptr_t)*environment);
        execlp("sleep", "sleep", "60", (char *)NULL);
        _exit(127);
    }
    await_program(recorded, "sleep");
    assert_int_equal(run_command(recorded), jm_status_exit_code(JM_BUSY));
    kill(recorded, SIGKILL);
    waitpid(recorded, NULL, 0);
    jm_run_discard(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorders_that_come_and_go_leak_and_lose_nothing),
        cmocka_unit_test(test_dormant_program_records_nothing_and_holds_a_socket_a_library),
        cmocka_unit_test(test_dormant_program_of_one_thread_has_one_but_while_it_is_recorded),
        cmocka_unit_test(test_program_of_one_thread_without_a_span_is_recorded_later),
        cmocka_unit_test(test_layer_and_kernels_of_a_program_that_runs_already),
        cmocka_unit_test(test_second_recorder_is_refused_and_harms_nothing),
        cmocka_unit_test(test_program_whose_cupti_hung_can_be_recorded_once_it_is_back),
        cmocka_unit_test(test_refusal_is_heard_from_one_that_hung_up),
        cmocka_unit_test(test_program_of_which_one_library_refuses_is_not_recorded_by_half),
        cmocka_unit_test(test_stopped_program_keeps_nobody_waiting),
        cmocka_unit_test(test_killed_recorder_leaves_a_dormant_program_that_can_be_recorded),
        cmocka_unit_test(test_program_that_ends_while_it_is_recorded_is_whole),
        cmocka_unit_test(test_program_that_closes_all_descriptors_can_still_be_recorded),
        cmocka_unit_test(test_forked_child_is_dormant_by_itself),
        cmocka_unit_test(test_children_too_short_to_be_found_are_recorded),
        cmocka_unit_test(test_who_entered_by_itself_leaves_when_the_run_is_over),
        cmocka_unit_test(test_program_that_replaces_itself_joins_again),
        cmocka_unit_test(test_programs_that_cannot_be_attached_to_are_told_apart),
        cmocka_unit_test(test_another_users_process_is_refused),
        cmocka_unit_test(test_program_under_record_is_refused),
        cmocka_unit_test(test_program_whose_name_somebody_else_has_is_recorded),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
