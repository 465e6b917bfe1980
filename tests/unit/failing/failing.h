/* What fails when a test says so: the n-th allocation of this program, or the n-th call of a kind that SQLite
 * makes of its file system. Linked into a test, it replaces malloc and its like for all of the program,
 * libraries included (failing_memory.c), and stands between SQLite and the system (failing_files.c). */
#ifndef TEST_FAILING_H
#define TEST_FAILING_H

#include <stdbool.h>
#include <stdlib.h>

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

/* The sanitizers take many times as long. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { FAILING_SLOWER = 7 };
#else
enum { FAILING_SLOWER = 1 };
#endif

/* Of allocations one in so many is tried; with JOULEMAP_TEST_ALL in the
 * environment each, as of all else. */
static inline long failing_step(failing_what what)
{
    bool all = what > FAILING_OWN_MEMORY || getenv("JOULEMAP_TEST_ALL") != NULL;
    return all ? 1 : FAILING_SLOWER > 3 ? FAILING_SLOWER : 3;
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
