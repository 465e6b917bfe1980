/* Collects findings: those of the back ends, then CUDA and CUPTI, hardware counters, shared memory, SQLite.
 */
#include "base/clock.h"
#include "base/helper.h"
#include "base/status.h"
#include "base/vec.h"
#include "doctor/probe.h"
#include "record/counters/helper.h"
#include "record/cupti/search.h"
#include "record/device/device.h"
#include "record/sample/inventory.h"

#include <joulemap/doctor.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SHM_FREE_MIN (UINT64_C(64) << 20)

/* A run's ring buffers are in shared memory. */
static void note_shm(jm__findings *findings)
{
    struct statvfs space;
    const char *cure = "give the container more: docker run --shm-size=1g, or --ipc=host";
    if (statvfs("/dev/shm", &space) != 0 || access("/dev/shm", W_OK) != 0) {
        jm__finding_add(findings, "shared memory", false, cure, "/dev/shm is not there or not writable");
        return;
    }
    uint64_t free_bytes = (uint64_t)space.f_bavail * (uint64_t)space.f_frsize;
    jm__finding_add(findings, "shared memory", free_bytes >= SHM_FREE_MIN, cure, "/dev/shm: %llu MiB free",
                    (unsigned long long)(free_bytes >> 20));
}

/* ---- hardware counters: a trial by the helper process of a recording, all boards at once */

#define COUNTERS_LIMIT_NS (INT64_C(10) * JM_NS_PER_S)

enum { BOARDS_MAX = 64 };

typedef struct trial {
    const jm_board *board;
    jm__counter_helper helper;
} trial;

static void ignore_block(void *context, const jm__counter_block *block)
{
    (void)context;
    (void)block;
}

/* Wait until the helper has answered, or until `until_ns`. */
static void wait_for_answer(trial *t, int64_t until_ns)
{
    while (t->helper.state == JM_COUNTERS_PREPARING && jm__now_ns() < until_ns) {
        jm__counter_helper_receive(&t->helper, ignore_block, NULL);
        jm__sleep_ns(2 * JM_NS_PER_MS);
    }
}

static void note(jm__findings *findings, trial *t, bool alone)
{
    const jm__counter_helper *helper = &t->helper;
    char subject[64] = "hardware counters";
    if (!alone) snprintf(subject, sizeof subject, "hardware counters: GPU %d", (int)t->board->index);
    if (helper->state == JM_COUNTERS_IDLE)
        jm__finding_add(findings, subject, true, "", "%s, %d metrics in one pass", helper->chip,
                        (int)helper->metric_count);
    else if (helper->state == JM_COUNTERS_PREPARING)
        jm__finding_add(findings, subject, false, "", "trying them took longer than %.3g s",
                        (double)COUNTERS_LIMIT_NS / (double)JM_NS_PER_S);
    else
        jm__finding_add(findings, subject, false, helper->cure, "%s", helper->error);
    if (findings->count > 0)
        findings->items[findings->count - 1].lacks_right = strcmp(helper->cure, JM_COUNTERS_RIGHT_CURE) == 0;
}

/* Adds the finding "hardware counters" of each GPU ("hardware counters: GPU 1" if there are several). The
 * counters are reserved for a moment. `sim`: the simulated board's profile, NULL: real boards. */
static void add_counters(jm__findings *findings, const jm_inventory *inventory, const char *sim)
{
    size_t count = 0;
    trial *trials = calloc(BOARDS_MAX, sizeof *trials);
    jm__counter_launch launch = {0};
    for (size_t i = 0; trials != NULL && i < jm_inventory_board_count(inventory) && count < BOARDS_MAX; i++) {
        const jm_board *board = jm_inventory_board(inventory, i);
        if (!jm__board_has_counters(board)) continue;
        if (count == 0) jm__counter_launch_find(&launch, NULL, board->simulated ? sim : NULL, NULL);
        trials[count].board = board;
        jm__counter_helper_start(&trials[count++].helper, &launch, "try", board);
    }
    int64_t until_ns = jm__now_ns() + COUNTERS_LIMIT_NS;
    for (size_t i = 0; i < count; i++)
        wait_for_answer(&trials[i], until_ns);
    for (size_t i = 0; i < count; i++) {
        note(findings, &trials[i], count == 1);
        jm__counter_helper_end(&trials[i].helper, jm__now_ns() + JM_NS_PER_S / 5);
    }
    jm__counter_launch_free(&launch);
    free(trials);
}

/* ---- CUDA and CUPTI, as the injected library will find them in a program */

#define LIMIT_NS             (INT64_C(10) * JM_NS_PER_S)
#define CUDA_ERROR_NO_DEVICE 100

static const char cupti_cure[] =
    "pip install nvidia-cuda-cupti (PyTorch with CUDA brings it), or name it in JOULEMAP_CUPTI; "
    "without it, energy goes to layers by their spans, not by kernels";

static void note_cuda(jm__findings *findings)
{
    jm__probe_answer answer;
    jm__probe_run(&answer, JM_PROBE_CUDA, "libcuda.so.1", LIMIT_NS);
    if (!answer.called)
        jm__finding_add(findings, "CUDA", false,
                        "install the NVIDIA driver; not needed for the simulated board", "%.250s",
                        answer.why);
    else if (answer.number != 0)
        jm__finding_add(findings, "CUDA", false, "`nvidia-smi` should work first; check CUDA_VISIBLE_DEVICES",
                        "cuInit: error %u%s", answer.number,
                        answer.number == CUDA_ERROR_NO_DEVICE ? " (no device)" : "");
    else
        jm__finding_add(findings, "CUDA", true, "", "cuInit works");
}

static void note_injected(jm__findings *findings)
{
    char path[PATH_MAX];
    bool there = jm__beside("libjoulemap_inject.so", path, sizeof path);
    jm__finding_add(
        findings, "injected library", there,
        "pip install nvidia-cuda-cupti nvidia-cuda-runtime, or a CUDA toolkit, and build joulemap again",
        "%.200s%s", path, there ? "" : " is not there: it was built without CUPTI's headers");
}

/* Files that come later in the search; bare names for the loader are skipped. */
static void note_rest(jm__findings *findings, const jm__cupti_candidates *all, size_t first)
{
    for (size_t i = first; i < all->count; i++)
        if (all->items[i].path[0] == '/')
            jm__finding_add(findings, "CUPTI: not needed", true, "", "%.190s (%.40s)", all->items[i].path,
                            all->items[i].where);
}

static void note_cupti(jm__findings *findings, const jm__cupti_candidates *all)
{
    char first_fault[256] = "";
    for (size_t i = 0; i < all->count; i++) {
        const jm__cupti_candidate *candidate = &all->items[i];
        jm__probe_answer answer;
        jm__probe_run(&answer, JM_PROBE_CUPTI, candidate->path, LIMIT_NS);
        if (answer.called) {
            jm__finding_add(findings, "CUPTI", true, "", "%.180s (%.40s), API version %u", candidate->path,
                            candidate->where, answer.number);
            note_rest(findings, all, i + 1);
            return;
        }
        if (answer.absent) continue;
        if (first_fault[0] == '\0') memcpy(first_fault, answer.why, sizeof answer.why);
        jm__finding_add(findings, "CUPTI: not taken", false, "", "%.60s: %.180s", candidate->where,
                        answer.why);
    }
    if (first_fault[0] != '\0')
        jm__finding_add(findings, "CUPTI", false, cupti_cure,
                        "none that was found can be used; the first: %.190s", first_fault);
    else
        jm__finding_add(findings, "CUPTI", false, cupti_cure, "no libcupti was found");
}

/* Adds the findings "CUDA", "injected library" (required for recording kernels) and "CUPTI": the file that
 * would be used, or why there is none. Other candidates become "CUPTI: not taken" and "CUPTI: not needed". */
static void add_kernel_tracing(jm__findings *findings)
{
    char program[PATH_MAX];
    jm__cupti_candidates *all = calloc(1, sizeof *all);
    note_cuda(findings);
    note_injected(findings);
    if (all == NULL) return;
    jm__cupti_search(all, jm__cupti_program(program, sizeof program), false);
    note_cupti(findings, all);
    free(all);
}

/* ---- the list of findings */

struct jm_doctor {
    jm_inventory *inventory;
    jm__findings findings;
};

jm_status jm_doctor_create(jm_doctor **out, const char *sim, jm_error *err)
{
    *out = NULL;
    jm_doctor *doctor = calloc(1, sizeof *doctor);
    if (doctor == NULL) return jm__no_memory(err, "jm_doctor_create");
    jm_status status = jm_inventory_create(&doctor->inventory, sim, err);
    if (status != JM_OK) {
        jm_doctor_free(doctor);
        return status;
    }
    const jm__findings *devices = jm__devices_findings(jm__inventory_devices(doctor->inventory));
    for (size_t i = 0; i < devices->count; i++)
        (void)jm__vec_push(&doctor->findings, devices->items[i]);
    add_kernel_tracing(&doctor->findings);
    add_counters(&doctor->findings, doctor->inventory, sim != NULL ? sim : getenv("JOULEMAP_SIM"));
    note_shm(&doctor->findings);
    jm__finding_add(&doctor->findings, "SQLite", true, "", "version %s", sqlite3_libversion());
    *out = doctor;
    return JM_OK;
}

void jm_doctor_free(jm_doctor *doctor)
{
    if (doctor == NULL) return;
    jm_inventory_free(doctor->inventory);
    jm__vec_free(&doctor->findings);
    free(doctor);
}

size_t jm_doctor_finding_count(const jm_doctor *doctor)
{
    return doctor->findings.count;
}

const jm_finding *jm_doctor_finding(const jm_doctor *doctor, size_t finding)
{
    return finding < doctor->findings.count ? &doctor->findings.items[finding] : NULL;
}

const jm_inventory *jm_doctor_inventory(const jm_doctor *doctor)
{
    return doctor->inventory;
}
