/* CUDA tried, and the search of the injected library made for a program that is not running yet. */
#include "doctor/kernels.h"

#include "base/beside.h"
#include "base/clock.h"
#include "doctor/probe.h"
#include "record/cupti/search.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_NS             (INT64_C(10) * JM_NS_PER_S)
#define CUDA_ERROR_NO_DEVICE 100

static const char cupti_cure[] =
    "pip install nvidia-cuda-cupti (PyTorch with CUDA brings it), or name it in JOULEMAP_CUPTI; "
    "without it, energy goes to layers by their spans, not by kernels";

/* Whether it starts. */
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

/* Each candidate that was tried and will not do. */
static void note_refusal(jm__findings *findings, const jm__cupti_candidate *candidate, const char *why)
{
    jm__finding_add(findings, "CUPTI: not taken", false, "", "%.60s: %.180s", candidate->where, why);
}

/* Files that come later in the search; the loader's names are no files. */
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
        note_refusal(findings, candidate, answer.why);
    }
    if (first_fault[0] != '\0')
        jm__finding_add(findings, "CUPTI", false, cupti_cure,
                        "none that was found will do; the first: %.190s", first_fault);
    else
        jm__finding_add(findings, "CUPTI", false, cupti_cure, "no libcupti was found");
}

void jm__doctor_kernels(jm__findings *findings)
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
