/* A host of plugins, one of which uses libjoulemap: it is loaded, used, and unloaded while a thread that has
 * used it goes on, a run is open and children are forked. Prints "well" at its end. */
#include <joulemap/joulemap.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t together;
static void *library;
static jm_run *run; /* which nobody ends */

static void *find(const char *name)
{
    void *symbol = dlsym(library, name);
    if (symbol == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return symbol;
}

static void *use(void *unused)
{
    jm_span_id (*begin)(jm_span_kind, jm_name, jm_name, uint32_t);
    void (*end)(jm_span_id);
    *(void **)&begin = find("jm_span_begin");
    *(void **)&end = find("jm_span_end");
    end(begin(JM_SPAN_FORWARD, 0, 0, 0));
    pthread_barrier_wait(&together); /* it was used */
    pthread_barrier_wait(&together); /* it was unloaded */
    return unused;
}

static void start_run(void)
{
    jm_run_options options = {.size = sizeof options, .no_cpu = true, .may_wait = true};
    jm_status (*start)(jm_run **, const jm_run_options *, jm_error *);
    *(void **)&start = find("jm_run_start");
    if (start(&run, &options, NULL) != JM_OK) exit(3);
}

int main(int count, char **words)
{
    pthread_t thread;
    library = count < 2 ? NULL : dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL || pthread_barrier_init(&together, NULL, 2) != 0) return 1;
    start_run();
    if (pthread_create(&thread, NULL, use, NULL) != 0) return 1;
    pthread_barrier_wait(&together);
    if (dlclose(library) != 0) return 1;
    pthread_barrier_wait(&together);
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (child == 0) _exit(0);
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) return 4;
    puts("well");
    return 0;
}
