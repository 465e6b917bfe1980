/* getopt and its words. */
#include "suite/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum { USAGE = 2, GO_ON = -1 };

static const char usage[] =
    "usage: joulemap-suite -o FILE [options]\n"
    "\n"
    "Plays and records the kernels out of which a GPU's power is learnt, without PyTorch: CUDA C, compiled "
    "by\n"
    "NVRTC. `joulemap calibrate --suite cuda` runs it. What is wrong is told on stderr.\n"
    "\n"
    "  -o, --output FILE   recording to write\n"
    "      --seconds N     of the suite at most (default: 60)\n"
    "      --seed N        of data, order, lengths and gaps (default: 0)\n"
    "      --idle S        seconds of rest before and after (default: 3)\n"
    "      --response S    seconds of the square wave (default: 5)\n"
    "      --sim PROFILE   beside a simulated GPU, in small (default: JOULEMAP_SIM, else a real one)\n"
    "  -f, --force         replace an existing recording\n"
    "  -q, --quiet         do not say what was played\n"
    "      --once          play each kernel one time for a profiler (ncu --profile-from-start off), and "
    "record\n"
    "                      nothing; a line each on stdout: name, data, seconds\n"
    "      --list          show the kernels: name, data, source\n"
    "      --compile N     compile all of them for compute capability N (90: 9.0); no GPU is needed\n"
    "  -h, --help          show this text\n";

static bool read_number(const char *text, double least, double most, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && *value >= least && *value <= most;
}

/* False: the value is no good. */
static bool take(int key, const char *value, suite_options *options)
{
    double number;
    switch (key) {
    case 'o':
        options->output = value;
        return true;
    case 'm':
        options->sim = value;
        return value[0] != '\0';
    case 'n':
        return read_number(value, 0.1, 1e5, &options->seconds);
    case 'i':
        return read_number(value, 0, 1e4, &options->idle_s);
    case 'r':
        return read_number(value, 0, 1e4, &options->response_s);
    case 's':
        if (!read_number(value, 0, 1e15, &number)) return false;
        options->seed = (uint64_t)number;
        return true;
    case 'c':
        if (!read_number(value, 10, 999, &number)) return false;
        options->compile = (int)number;
        return true;
    case 'f':
        options->force = true;
        return true;
    case 'q':
        options->quiet = true;
        return true;
    case '1':
        options->once = true;
        return true;
    case 'l':
        options->list = true;
        return true;
    default:
        return false;
    }
}

int suite_options_read(suite_options *options, int argc, char **argv)
{
    static const struct option known[] = {
        {"output", 1, NULL, 'o'},  {"seconds", 1, NULL, 'n'}, {"seed", 1, NULL, 's'},
        {"idle", 1, NULL, 'i'},    {"sim", 1, NULL, 'm'},     {"response", 1, NULL, 'r'},
        {"force", 0, NULL, 'f'},   {"quiet", 0, NULL, 'q'},   {"list", 0, NULL, 'l'},
        {"compile", 1, NULL, 'c'}, {"help", 0, NULL, 'h'},    {"once", 0, NULL, '1'},
        {NULL, 0, NULL, 0},
    };
    const char *sim = getenv("JOULEMAP_SIM");
    *options = (suite_options){.seconds = 60, .idle_s = 3, .response_s = 5};
    if (sim != NULL && sim[0] != '\0') options->sim = sim;
    for (int key; (key = getopt_long(argc, argv, "o:fqh", known, NULL)) != -1;) {
        if (key == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        if (key != '?' && take(key, optarg, options)) continue;
        if (key != '?') fprintf(stderr, "joulemap-suite: \"%s\" does not do here\n", optarg);
        fputs("(see joulemap-suite --help)\n", stderr);
        return USAGE;
    }
    if (optind == argc && (options->output != NULL || options->once || options->list || options->compile > 0))
        return GO_ON;
    fputs(optind < argc ? "joulemap-suite: it takes options alone\n"
                        : "joulemap-suite: --output is missing\n",
          stderr);
    fputs("(see joulemap-suite --help)\n", stderr);
    return USAGE;
}
