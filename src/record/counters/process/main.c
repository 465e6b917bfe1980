/* The command joulemap-counters: samples a board's hardware counters for the recorder that started it. Not
 * for users. */
#include <joulemap/counters.h>

int main(int argc, char **argv)
{
    return jm_counters_serve(argc, argv);
}
