/* What a test has open: it must be as before once all is over. */
#ifndef TEST_FILES_OPEN_H
#define TEST_FILES_OPEN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>

static inline size_t files_open(void)
{
    size_t count = 0;
    DIR *listed = opendir("/proc/self/fd");
    assert_non_null(listed);
    while (readdir(listed) != NULL)
        count++;
    closedir(listed);
    return count;
}

#endif
