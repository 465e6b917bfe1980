/* What fails when a test says so: the n-th allocation of this program, or the n-th call of a kind that SQLite
 * makes of its file system. Linked into a test, it replaces malloc and its like for all of the program,
 * libraries included (failing_memory.c), and stands between SQLite and the system (failing_files.c). */
#ifndef TEST_FAILING_H
#define TEST_FAILING_H

#include "proof.h"

/* name, the word a test prints */
#define FAILING_MAP(X)                                                                                       \
    X(MEMORY, "allocation")                                                                                  \
    X(OWN_MEMORY, "allocation of our own code") /* not of the libraries under it */                          \
    X(READ, "read")                                                                                          \
    X(WRITE, "write")                                                                                        \
    X(WRITE_FULL, "write to a full disk")                                                                    \
    X(SYNC, "fsync")                                                                                         \
    X(TRUNCATE, "truncate")                                                                                  \
    X(OPEN, "open")                                                                                          \
    X(DELETE, "delete")                                                                                      \
    X(ACCESS, "access")                                                                                      \
    X(LOCK, "lock")                                                                                          \
    X(FILE_SIZE, "question for a file's size")                                                               \
    X(SHARE, "map of shared memory")

typedef enum failing_what {
#define X(name, text) FAILING_##name,
    FAILING_MAP(X)
#undef X
        FAILING_COUNT
} failing_what;

/* From one n that is tried to the next: the first and every 31st after it, in the proof each. */
static inline long failing_step(void)
{
    return proof_some(1, 31);
}

/* Of the n from which on all fail, at most about `most` are tried, in check no more than of the others: the
 * errors are those of the first. */
static inline long failing_for_good_step(long step, long n, long most)
{
    long few = 1 + n / most;
    return proof_runs() || few > step ? few : step;
}

const char *failing_text(failing_what what);

/* From now on the n-th (from 1) of these fails, and, `for_good`, all after it; on any thread. */
void failing_begin(failing_what what, long n, bool for_good);

/* Nothing fails any more. Has something failed? */
bool failing_end(void);

/* Does this one fail? */
bool failing_now(failing_what what);

/* Put the failing files below SQLite, once; all that it opens from then on goes through them. */
void failing_files_install(void);

#endif
