/* Data, a first call, the rounds of a launch, the time of a call; and a list of reasons. */
#include "suite/ready.h"

#include "suite/fault.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMED_S        2e-3
#define LAUNCH_S       200e-6 /* a launch is so long, so that the next one is queued before it ends */
#define LONGEST_CALL_S 10e-3
#define LEAST_CALL_S   1e-7
enum { ROUGH_CALLS = 3, ROUNDS_MAX = 4096, SHARE_BLOCKS = 4 };

static const double burst_s[] = {1e-3, 20e-3};

double suite_share_of(const suite_driver *driver)
{
    const double share = fmin(driver->multiprocessors / 132.0, (double)driver->memory_bytes / 24e9);
    return share > 0.9 ? 1 : share;
}

void suite_burst_lengths(suite_chance *chance, double lengths_s[SUITE_LENGTHS])
{
    const double low = log(burst_s[0]), step = (log(burst_s[1]) - low) / SUITE_LENGTHS;
    for (int i = 0; i < SUITE_LENGTHS; i++)
        lengths_s[i] = exp(low + step * (i + suite_chance_part(chance)));
}

/* ---- which */

/* How many kernels of its family stand before it that this GPU can run. */
static size_t rank_of(size_t number, int capability)
{
    size_t rank = 0;
    for (size_t i = 0; i < number; i++)
        rank += strcmp(suite_kernels[i].family, suite_kernels[number].family) == 0 &&
                suite_kernel_is_for(&suite_kernels[i], capability);
    return rank;
}

size_t suite_choose_all(const suite_kernel **chosen)
{
    for (size_t i = 0; i < suite_kernel_count; i++)
        chosen[i] = &suite_kernels[i];
    return suite_kernel_count;
}

size_t suite_choose(double seconds, int capability, const suite_kernel **chosen)
{
    const size_t wanted = (size_t)fmax(1, seconds / SUITE_ENOUGH_S);
    size_t count = 0;
    for (size_t rank = 0; rank < suite_kernel_count && count < wanted; rank++)
        for (size_t i = 0; i < suite_kernel_count && count < wanted; i++)
            if (suite_kernel_is_for(&suite_kernels[i], capability) && rank_of(i, capability) == rank)
                chosen[count++] = &suite_kernels[i];
    return count;
}

/* ---- one */

static jm_status give(suite_entry *entry, const suite_kernel *kernel, suite_stock *stock, jm_error *err)
{
    suite_work *work = &entry->call.work;
    const suite_needs needs = kernel->needs(work->n);
    suite_taken taken = {0};
    const struct {
        suite_address *to;
        uint64_t count;
        suite_type type;
        bool weights;
    } operands[] = {{&work->a, needs.a, kernel->type, false},
                    {&work->b, needs.b, kernel->type, needs.weights},
                    {&work->c, needs.c, kernel->type, needs.weights},
                    {&work->index, needs.index, SUITE_INDEX, false}};
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++)
        SUITE_TRY(suite_stock_take(stock, &taken, entry->kind, operands[i].type, operands[i].weights,
                                   operands[i].count, operands[i].to, err));
    const uint64_t wide = suite_type_bytes(kernel->type) > 4 ? suite_type_bytes(kernel->type) : 4;
    SUITE_TRY(
        (needs.keeps ? suite_stock_own : suite_stock_scratch)(stock, wide * needs.out, &work->out, err));
    const int processors = stock->driver->multiprocessors;
    const int blocks = needs.blocks > 0 ? needs.blocks * processors : processors / SHARE_BLOCKS;
    entry->call.shared_bytes = needs.shared_bytes;
    entry->call.blocks = (uint32_t)(blocks > 0 ? blocks : 1);
    return JM_OK;
}

/* As many rounds a launch as make it long enough, then the time of a launch among others. */
static jm_status time_calls(suite_entry *entry, const suite_driver *driver, jm_error *err)
{
    double seconds;
    suite_call *call = &entry->call;
    call->work.rounds = 1;
    SUITE_TRY(suite_play(driver, call, entry->name, 1, &seconds, err)); /* the first brings the code there */
    SUITE_TRY(suite_play(driver, call, entry->name, ROUGH_CALLS, &seconds, err));
    const double rough_s = fmax(LEAST_CALL_S, seconds / ROUGH_CALLS);
    call->work.rounds = (uint32_t)fmin(ROUNDS_MAX, fmax(1, round(LAUNCH_S / rough_s)));
    const double rounds_s = rough_s * call->work.rounds;
    const uint32_t calls = (uint32_t)fmax(1, round(TIMED_S / rounds_s));
    SUITE_TRY(suite_play(driver, call, entry->name, calls, &seconds, err));
    entry->call_s = fmax(LEAST_CALL_S, seconds / calls);
    if (entry->call_s <= LONGEST_CALL_S) return JM_OK;
    return suite_fail(err, JM_LIMIT, "", "a call takes longer than %.0f ms", 1e3 * LONGEST_CALL_S);
}

static jm_status make(suite_entry *entry, const suite_kernel *kernel, suite_kind kind, suite_stock *stock,
                      suite_chance *chance, jm_error *err)
{
    char function[SUITE_NAME];
    double lengths_s[SUITE_LENGTHS];
    *entry = (suite_entry){.kind = kind, .heavy = suite_kernel_is_heavy(kernel)};
    suite_kernel_scale(kernel, stock->share, entry->call.work.n);
    suite_kernel_name(kernel, entry->call.work.n, entry->name, sizeof entry->name);
    entry->best =
        strcmp(kernel->family, "product") == 0 && kernel->type == SUITE_BF16 && kind == SUITE_RANDOM;
    if (!suite_kernel_is_for(kernel, stock->driver->capability))
        return suite_fail(err, JM_NOT_SUPPORTED, "", "needs compute capability %.1f%s",
                          abs(kernel->capability) / 10.0, kernel->capability < 0 ? " itself" : "");
    suite_kernel_function(kernel, function, sizeof function);
    SUITE_TRY(suite_modules_find(stock->modules, kernel->source, kernel->capability < 0, function,
                                 &entry->call.function, err));
    entry->call.work.seed = (uint32_t)suite_chance_bits(chance);
    SUITE_TRY(give(entry, kernel, stock, err));
    SUITE_TRY(suite_allow(stock->driver, &entry->call, entry->name, err));
    SUITE_TRY(time_calls(entry, stock->driver, err));
    suite_burst_lengths(chance, lengths_s);
    for (int i = 0; i < SUITE_LENGTHS; i++)
        entry->calls[i] = (uint32_t)fmax(1, round(lengths_s[i] / entry->call_s));
    return JM_OK;
}

/* ---- all */

static void leave_out(suite_ready *ready, const suite_entry *entry, const jm_error *fault)
{
    char text[sizeof ready->reasons->text];
    size_t i = 0;
    snprintf(text, sizeof text, "%.*s", (int)sizeof text - 1, fault->text);
    while (i < ready->reason_count && strcmp(ready->reasons[i].text, text) != 0)
        i++;
    ready->left_out++;
    if (i == SUITE_REASONS_MAX) return;
    suite_reason *reason = &ready->reasons[i];
    if (i == ready->reason_count) {
        ready->reason_count++;
        memcpy(reason->text, text, sizeof text);
        snprintf(reason->hint, sizeof reason->hint, "%.*s", (int)sizeof reason->hint - 1, fault->hint);
    }
    if (reason->count < SUITE_REASON_NAMES)
        snprintf(reason->names[reason->count], SUITE_NAME, "%s", entry->name);
    reason->count++;
}

/* What this GPU or this compiler cannot do is left out; a GPU that fails ends it all. */
static bool is_of_one_kernel(jm_status status)
{
    return status == JM_NOT_SUPPORTED || status == JM_LIMIT || status == JM_NO_MEMORY;
}

static jm_status make_kinds(suite_ready *ready, const suite_kernel *kernel, bool all_kinds,
                            suite_stock *stock, suite_chance *chance, jm_error *err)
{
    for (suite_kind kind = 0; kind < SUITE_KIND_COUNT; kind++) {
        jm_error fault = {0};
        if ((kernel->kinds & SUITE_KIND_BIT(kind)) == 0) continue;
        suite_entry *entry = &ready->entries[ready->count];
        jm_status status = make(entry, kernel, kind, stock, chance, &fault);
        if (status == JM_OK)
            ready->count++;
        else if (is_of_one_kernel(status))
            leave_out(ready, entry, &fault);
        else {
            if (err != NULL) *err = fault;
            return status;
        }
        if (!all_kinds) break;
    }
    return JM_OK;
}

jm_status suite_make_ready(suite_ready *ready, const suite_kernel *const *kernels, size_t count,
                           bool all_kinds, suite_stock *stock, suite_chance *chance,
                           bool (*told)(double share), jm_error *err)
{
    *ready = (suite_ready){.entries = calloc(count * SUITE_KIND_COUNT + 1, sizeof *ready->entries)};
    if (ready->entries == NULL) return suite_fail(err, JM_NO_MEMORY, "", "no memory for the suite");
    for (size_t i = 0; i < count; i++) {
        SUITE_TRY(make_kinds(ready, kernels[i], all_kinds, stock, chance, err));
        if (!told((double)(i + 1) / (double)count)) break;
    }
    if (ready->count > 0 || ready->reason_count == 0) return JM_OK;
    return suite_fail(err, JM_NOT_SUPPORTED, ready->reasons[0].hint, "no kernel of the suite runs here: %s",
                      ready->reasons[0].text);
}

void suite_ready_free(suite_ready *ready)
{
    free(ready->entries);
    *ready = (suite_ready){0};
}
