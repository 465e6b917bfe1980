/* What kernels of a shape ask for: operands, places for results, blocks. */
#ifndef SUITE_NEEDS_H
#define SUITE_NEEDS_H

#include "suite/kernel.h"

/* n[0] elements, of one, two or three operands. */
suite_needs suite_stream1(const uint64_t n[4]);
suite_needs suite_stream2(const uint64_t n[4]);
suite_needs suite_stream3(const uint64_t n[4]);
suite_needs suite_stream0(const uint64_t n[4]);  /* none: results alone */
suite_needs suite_part(const uint64_t n[4]);     /* one, on a quarter of the multiprocessors */
suite_needs suite_step(const uint64_t n[4]);     /* three, and two results */
suite_needs suite_counting(const uint64_t n[4]); /* one, and 1024 counts that go on */

/* n[0] rows of n[1], with a gain and a shift for each column. */
suite_needs suite_rows(const uint64_t n[4]);
suite_needs suite_rows2(const uint64_t n[4]); /* two operands of that size, the second as c, and a gain */

/* (n[0] x n[2]) times (n[1] x n[2]) transposed. */
suite_needs suite_product(const uint64_t n[4]); /* by tiles that fill a multiprocessor */
suite_needs suite_tiles(const uint64_t n[4]);   /* by smaller ones */
suite_needs suite_wide(const uint64_t n[4]);    /* by one that fills its shared memory: kernels/hopper.cu */

/* n[0] indices into n[1] rows of n[2] elements (0: of one). */
suite_needs suite_gather(const uint64_t n[4]);
suite_needs suite_scatter(const uint64_t n[4]);

/* n[0] images of n[3] x n[3] pixels, n[1] channels in, n[2] out. */
suite_needs suite_images(const uint64_t n[4]);

/* n[0] rows of n[3] places, n[1] columns, times n[2] (0: 1) columns. */
suite_needs suite_sparse(const uint64_t n[4]);

#endif
