/* Tests of one folder in one program: `unit_<folder> NAME` runs test_NAME.c. Which there are, the build
 * writes into a table. */
#include <stdio.h>
#include <string.h>

typedef struct unit_test {
    const char *name;
    int (*run)(void);
} unit_test;

#define X(name) int name##_main(void);
UNIT_TESTS(X)
#undef X

static const unit_test tests[] = {
#define X(name) {#name, name##_main},
    UNIT_TESTS(X)
#undef X
};

int main(int count, char **arguments)
{
    for (size_t i = 0; count == 2 && i < sizeof tests / sizeof *tests; i++)
        if (strcmp(arguments[1], tests[i].name) == 0) return tests[i].run();
    fprintf(stderr, "usage: %s NAME, one of:\n", arguments[0]);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        fprintf(stderr, "  %s\n", tests[i].name);
    return 2;
}
