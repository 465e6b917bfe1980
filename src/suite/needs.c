/* Counting them. */
#include "suite/needs.h"

enum { FULL = 8, TILES = 2, TAPS_MAX = 49 }; /* blocks a multiprocessor; of a filter of 7 x 7 */

static uint64_t or_one(uint64_t n)
{
    return n > 0 ? n : 1;
}

suite_needs suite_stream0(const uint64_t n[4])
{
    return (suite_needs){.out = n[0], .blocks = FULL};
}

suite_needs suite_stream1(const uint64_t n[4])
{
    return (suite_needs){.a = n[0], .out = n[0], .blocks = FULL};
}

suite_needs suite_part(const uint64_t n[4])
{
    return (suite_needs){.a = n[0], .out = n[0], .blocks = 0};
}

suite_needs suite_stream2(const uint64_t n[4])
{
    return (suite_needs){.a = n[0], .b = n[0], .out = n[0], .blocks = FULL};
}

suite_needs suite_stream3(const uint64_t n[4])
{
    return (suite_needs){.a = n[0], .b = n[0], .c = n[0], .out = n[0], .blocks = FULL};
}

suite_needs suite_step(const uint64_t n[4])
{
    return (suite_needs){.a = n[0], .b = n[0], .c = n[0], .out = 2 * n[0], .blocks = FULL};
}

suite_needs suite_counting(const uint64_t n[4])
{
    return (suite_needs){.a = n[0], .out = 1024, .keeps = true, .blocks = FULL};
}

suite_needs suite_rows(const uint64_t n[4])
{
    const uint64_t all = n[0] * n[1];
    return (suite_needs){.a = all, .b = n[1], .c = n[1], .out = all, .weights = true, .blocks = FULL};
}

suite_needs suite_rows2(const uint64_t n[4])
{
    const uint64_t all = n[0] * n[1];
    return (suite_needs){.a = all, .b = n[1], .c = all, .out = all, .blocks = FULL};
}

suite_needs suite_product(const uint64_t n[4])
{
    return (suite_needs){
        .a = n[0] * n[2], .b = n[1] * n[2], .out = n[0] * n[1], .weights = true, .blocks = TILES};
}

suite_needs suite_tiles(const uint64_t n[4])
{
    suite_needs needs = suite_product(n);
    needs.blocks = 2 * TILES;
    return needs;
}

suite_needs suite_wide(const uint64_t n[4])
{
    enum { STAGES = 4, ROWS = 128 + 256, ROW_BYTES = 128, ALIGN = 1024 };
    suite_needs needs = suite_product(n);
    needs.blocks = 1;
    needs.shared_bytes = STAGES * ROWS * ROW_BYTES + ALIGN;
    return needs;
}

suite_needs suite_gather(const uint64_t n[4])
{
    const uint64_t wide = or_one(n[2]);
    return (suite_needs){.a = n[1] * wide, .index = n[0], .out = n[0] * wide, .blocks = FULL};
}

suite_needs suite_scatter(const uint64_t n[4])
{
    const uint64_t wide = or_one(n[2]);
    return (suite_needs){.a = n[0] * wide, .index = n[0], .out = n[1] * wide, .keeps = true, .blocks = FULL};
}

suite_needs suite_images(const uint64_t n[4])
{
    const uint64_t pixels = n[0] * n[3] * n[3], filter = n[2] > 0 ? n[1] * n[2] : n[1];
    return (suite_needs){.a = pixels * n[1],
                         .b = TAPS_MAX * filter,
                         .out = pixels * (n[2] > 0 ? n[2] : n[1]),
                         .weights = true,
                         .blocks = FULL};
}

suite_needs suite_sparse(const uint64_t n[4])
{
    const uint64_t wide = or_one(n[2]), places = n[0] * n[3];
    return (suite_needs){
        .a = places, .b = n[1] * wide, .index = places, .out = n[0] * wide, .weights = true, .blocks = FULL};
}
