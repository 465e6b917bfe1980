/* A libcuda whose start hangs, crashes, ends the process, or tells what it finds there. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((visibility("default"))) int cuInit(unsigned flags);

/* Descriptors above the standard ones, those of joulemap's that cross no exec aside. */
static int strangers_count(void)
{
    int count = -1; /* the folder's own */
    DIR *folder = opendir("/proc/self/fd");
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        count += atoi(entry->d_name) > STDERR_FILENO;
    closedir(folder);
    return count;
}

int cuInit(unsigned flags)
{
    (void)flags;
    int strangers = strangers_count();
#if defined FAKE_HANGS
    for (;;)
        pause();
#elif defined FAKE_CRASHES
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
#elif defined FAKE_EXITS
    _exit(3);
#else
    sigset_t mask;
    struct sigaction action;
    puts("called 5");
    fflush(stdout);
    if (getenv("CUDA_INJECTION64_PATH") != NULL) return 201;
    if (getenv("JOULEMAP_RUN") != NULL) return 202;
    if (getenv("LD_PRELOAD") != NULL) return 203;
    if (sigprocmask(SIG_BLOCK, NULL, &mask) != 0 || sigismember(&mask, SIGUSR1)) return 205;
    if (sigaction(SIGUSR2, NULL, &action) != 0 || action.sa_handler != SIG_DFL) return 206;
    if (strangers > 1) return 204; /* the one that the answer goes to */
#endif
    return strangers >= 0 ? 100 : 207;
}
