/* The page of turns that ranks share, as torchrun starts the first of two. */
#ifndef JM_TESTS_RANKS_H
#define JM_TESTS_RANKS_H

#include "record/run/budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RANKS_FOLDER "/tmp/joulemap-test-ranks-XXXXXX"

static inline void join_ranks(jm__bursts *bursts, char *folder)
{
    assert_non_null(mkdtemp(folder));
    setenv("WORLD_SIZE", "2", 1);
    setenv("LOCAL_RANK", "0", 1);
    setenv("MASTER_PORT", "1", 1);
    jm__bursts_join(bursts, folder);
    assert_non_null(bursts->page);
}

static inline void leave_ranks(jm__bursts *bursts, const char *folder)
{
    char page[64];
    snprintf(page, sizeof page, "%s/turns-1", folder);
    jm__bursts_leave(bursts);
    assert_int_equal(unlink(page) + rmdir(folder), 0);
}

#endif
