/* Rows, made when they are first asked for by kernels/data.cu. */
#include "suite/stock.h"

#include "suite/fault.h"

enum { MI = 1 << 20, CHANNELS = 1024, BLOCKS = 8 };

/* On a small board operands that do not go with its size still have to fit. */
static const double least_share = 0.5;

uint64_t suite_stock_length(suite_type type, double share)
{
    static const uint64_t rare[SUITE_TYPE_COUNT] = {[SUITE_FP16] = 48 * (uint64_t)MI,
                                                    [SUITE_FP64] = 20 * (uint64_t)MI,
                                                    [SUITE_INT32] = 36 * (uint64_t)MI,
                                                    [SUITE_INDEX] = 16 * (uint64_t)MI};
    const uint64_t whole = rare[type] != 0 ? rare[type] : 64 * (uint64_t)MI;
    share = share < least_share ? least_share : share > 1 ? 1 : share;
    return (uint64_t)((double)whole / MI * share) * MI;
}

/* Fill `count` elements of a type. */
static jm_status fill(suite_stock *stock, suite_kind kind, suite_type type, bool weights, uint64_t count,
                      suite_address out, jm_error *err)
{
    char maker[32];
    double seconds;
    suite_call call = {.blocks = (uint32_t)(BLOCKS * stock->driver->multiprocessors),
                       .work = {.out = out,
                                .n = {count, (uint64_t)kind, weights ? 1 : 0},
                                .rounds = 1,
                                .seed = stock->seed + 16 * (uint32_t)type + 2 * (uint32_t)kind + weights}};
    suite_type_maker(type, maker, sizeof maker);
    SUITE_TRY(suite_modules_find(stock->modules, "data", false, maker, &call.function, err));
    return suite_play(stock->driver, &call, maker, 1, &seconds, err);
}

static jm_status make(suite_stock *stock, suite_kind kind, suite_type type, bool weights, jm_error *err)
{
    suite_address *row = &stock->rows[kind][type][weights], address;
    const uint64_t length = suite_stock_length(type, stock->share);
    SUITE_TRY(suite_driver_take(stock->driver, length * suite_type_bytes(type), &address, err));
    SUITE_TRY(fill(stock, kind, type, weights, length, address, err));
    *row = address;
    return JM_OK;
}

jm_status suite_stock_take(suite_stock *stock, suite_taken *taken, suite_kind kind, suite_type type,
                           bool weights, uint64_t count, suite_address *address, jm_error *err)
{
    *address = 0;
    if (count == 0) return JM_OK;
    if (type == SUITE_TF32) type = SUITE_FP32;
    if (kind != SUITE_TRAINED) weights = false;
    uint64_t *before = &taken->counts[type][weights];
    if (*before + count > suite_stock_length(type, stock->share))
        return suite_fail(err, JM_LIMIT, "", "operands too large for this GPU");
    if (stock->rows[kind][type][weights] == 0) SUITE_TRY(make(stock, kind, type, weights, err));
    *address = stock->rows[kind][type][weights] + *before * suite_type_bytes(type);
    *before += (count + CHANNELS - 1) / CHANNELS * CHANNELS;
    return JM_OK;
}

jm_status suite_stock_scratch(suite_stock *stock, uint64_t bytes, suite_address *address, jm_error *err)
{
    enum { LEAST = 256 * MI };
    if (bytes > stock->scratch_bytes) {
        const uint64_t wanted = bytes > LEAST ? bytes : LEAST;
        SUITE_TRY(suite_driver_take(stock->driver, wanted, &stock->scratch, err));
        stock->scratch_bytes = wanted;
    }
    *address = stock->scratch;
    return JM_OK;
}

jm_status suite_stock_own(suite_stock *stock, uint64_t bytes, suite_address *address, jm_error *err)
{
    SUITE_TRY(suite_driver_take(stock->driver, bytes, address, err));
    return fill(stock, SUITE_ZEROS, SUITE_FP32, false, bytes / 4, *address, err);
}
