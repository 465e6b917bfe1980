/* Files that nobody else can have put there, and copies out of mapped files that somebody cuts short. */
#include "base/private_file.h"

#include "base/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/joulemap-test-private-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static const char *path_of(const char *name)
{
    static char path[96];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void make_file(const char *name)
{
    int fd = open(path_of(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void assert_refused(const char *in, const char *name, int flags, int error)
{
    errno = 0;
    int fd = jm__private_file(in, name, flags);
    if (fd >= 0 || errno != error) fail_msg("%s: %d, %s", name, fd, strerror(errno));
}

static void test_a_plain_file_is_opened_and_a_new_one_is_its_makers_alone(void **state)
{
    (void)state;
    struct stat info;
    int fd = jm__private_file(folder, "new", O_RDWR | O_CREAT | O_EXCL);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    close(fd);
    fd = jm__private_file(folder, "new", O_RDONLY);
    assert_true(fd >= 0);
    close(fd);
    assert_refused(folder, "new", O_RDWR | O_CREAT | O_EXCL, EEXIST);
    assert_refused(folder, "missing", O_RDONLY, ENOENT);
}

static void test_nothing_but_a_plain_file_with_one_name_is_opened(void **state)
{
    (void)state;
    char target[96];
    make_file("target");
    make_file("two-names");
    snprintf(target, sizeof target, "%s", path_of("target"));
    assert_int_equal(symlink(target, path_of("link")), 0);
    assert_int_equal(symlink("/nowhere", path_of("dangling")), 0);
    assert_int_equal(symlink("/dev/zero", path_of("zeros")), 0);
    snprintf(target, sizeof target, "%s", path_of("two-names"));
    assert_int_equal(link(target, path_of("other-name")), 0);
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    assert_int_equal(mkdir(path_of("folder"), 0700), 0);
    static const int flags[] = {O_RDONLY, O_RDWR, O_WRONLY | O_APPEND, O_RDWR | O_CREAT};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        assert_refused(folder, "link", flags[i], ELOOP);
        assert_refused(folder, "dangling", flags[i], ELOOP);
        assert_refused(folder, "zeros", flags[i], ELOOP);
        assert_refused(folder, "other-name", flags[i], EPERM);
        assert_refused(folder, "two-names", flags[i], EPERM);
    }
    assert_refused(folder, "pipe", O_RDONLY, EPERM); /* and nobody waits for who writes into it */
    assert_refused(folder, "pipe", O_RDWR, EPERM);
    assert_refused(folder, "pipe", O_WRONLY, ENXIO);
    assert_refused(folder, "folder", O_RDONLY, EPERM);
    assert_int_equal(access("/nowhere", F_OK), -1);
}

static void test_a_folder_that_others_may_change_is_none_of_ours(void **state)
{
    (void)state;
    char in[96], by_link[96];
    snprintf(in, sizeof in, "%s", path_of("shared"));
    snprintf(by_link, sizeof by_link, "%s", path_of("by-link"));
    assert_int_equal(mkdir(in, 0700), 0);
    make_file("shared/file");
    assert_int_equal(symlink(in, by_link), 0);
    assert_refused(by_link, "file", O_RDONLY, ENOTDIR);
    static const mode_t open_to_others[] = {0777, 01777, 0720, 0702};
    for (size_t i = 0; i < sizeof open_to_others / sizeof *open_to_others; i++) {
        assert_int_equal(chmod(in, open_to_others[i]), 0);
        assert_refused(in, "file", O_RDONLY, EPERM);
    }
    assert_int_equal(chmod(in, 0755), 0);
    int fd = jm__private_file(in, "file", O_RDONLY);
    assert_true(fd >= 0);
    close(fd);
    if (geteuid() != 0) return;
    assert_int_equal(chown(in, 65534, 65534),
                     0); /* root may open it, and its owner put there what he likes */
    assert_refused(in, "file", O_RDONLY, EPERM);
}

/* ---- mapped files */

/* As older profiles of containers do. */
static bool forbid_copies(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* How often a copy said what it should not, of one file that is whole and then cut in its middle. */
static int copy_around_a_cut(int fd)
{
    enum { SIZE = 40000, KEPT = 16384 };
    static char before[SIZE], copy[SIZE];
    int wrong = 0;
    for (int i = 0; i < SIZE; i++)
        before[i] = (char)(i * 7 + i / 256);
    wrong += pwrite(fd, before, SIZE, 0) != SIZE;
    char *map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) return 100;
    wrong += !jm__mapped_read(copy, map, SIZE) || memcmp(copy, before, SIZE) != 0;
    wrong += !jm__mapped_write(map + 100, "changed", 7);
    wrong += !jm__mapped_read(copy, map + 100, 7) || memcmp(copy, "changed", 7) != 0;
    wrong += ftruncate(fd, KEPT) != 0;
    wrong += jm__mapped_read(copy, map, SIZE);
    wrong += jm__mapped_read(copy, map + KEPT, 8);
    wrong += jm__mapped_write(map + KEPT + 4096, before, 8);
    wrong += !jm__mapped_read(copy, map + KEPT - 8, 8);
    munmap(map, SIZE);
    return wrong;
}

static void test_what_was_cut_off_a_mapped_file_is_an_error_and_no_signal(void **state)
{
    (void)state;
    for (int forbidden = 0; forbidden < 2; forbidden++) {
        int fd = jm__private_file(folder, forbidden ? "cut-2" : "cut-1", O_RDWR | O_CREAT), status;
        assert_true(fd >= 0);
        pid_t child = fork();
        if (child == 0) _exit(forbidden && !forbid_copies() ? 77 : copy_around_a_cut(fd));
        close(fd);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status)) fail_msg("signal %d", WTERMSIG(status));
        if (WEXITSTATUS(status) == 77) skip();
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plain_file_is_opened_and_a_new_one_is_its_makers_alone),
        cmocka_unit_test(test_nothing_but_a_plain_file_with_one_name_is_opened),
        cmocka_unit_test(test_a_folder_that_others_may_change_is_none_of_ours),
        cmocka_unit_test(test_what_was_cut_off_a_mapped_file_is_an_error_and_no_signal),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
