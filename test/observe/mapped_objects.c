/* SPDX-License-Identifier: MIT */
/* The files a process has mapped; here those of the test itself. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include <spex/probe.h>

#include "../open_descriptors.h"
#include "observe/objects/mapped_objects.h"
#include "observe/objects/object_sites.h"

struct seen {
    unsigned objects, programs;
    char path[4096]; /* of this program */
};

static void probed(void) {
    CNT_PROBE_BEGIN(6, 1);
    CNT_PROBE_END(6);
}

static void see(void *user, const char *path, int fd, const char *why) {
    struct seen *seen = user;
    struct spex_object_sites sites;
    struct spex_error unreadable;
    seen->objects++;
    assert_true(fd >= 0 || *why);
    if (strcmp(path, seen->path) != 0)
        return;
    seen->programs++;
    assert_int_equal(spex_object_sites_read(fd, path, &sites, &unreadable), 0);
    assert_int_equal(sites.count, 1);
    assert_int_equal(sites.items[0].probe_id, 6);
    spex_object_sites_free(&sites);
}

TEST(every_file_once) {
    struct seen seen = {0};
    struct spex_error why = {""};
    size_t open = open_descriptors();
    probed();
    assert_true(readlink("/proc/self/exe", seen.path, sizeof(seen.path) - 1) > 0);
    assert_int_equal(spex_mapped_objects_visit(getpid(), see, &seen, &why), 0);
    assert_int_equal(seen.programs, 1);
    assert_true(seen.objects >= 2);
    assert_int_equal(open_descriptors(), open);
}

TEST(processes_that_have_ended) {
    struct seen seen = {0};
    struct spex_error why = {""};
    siginfo_t info;
    size_t open = open_descriptors();
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_not_equal(spex_mapped_objects_visit(pid, see, &seen, &why), 0);
    assert_true(*why.text);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(spex_mapped_objects_visit(pid, see, &seen, &why), -ESRCH);
    assert_int_equal(seen.objects, 0);
    assert_int_equal(open_descriptors(), open);
}

/* Whoever is not root may not look at what root runs. */
TEST(processes_of_others) {
    struct seen seen = {0};
    struct spex_error why = {""};
    if (geteuid() != 0) {
        print_message("SKIP: only root can become another user\n");
        skip();
    }
    char expected[96];
    pid_t pid = fork();
    while (pid == 0)
        pause();
    assert_true(pid > 0);
    assert_int_equal(seteuid(65534), 0);
    int err = spex_mapped_objects_visit(pid, see, &seen, &why);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(err, -EACCES);
    snprintf(expected, sizeof(expected),
             "process %d belongs to someone else, or may not be looked at", (int)pid);
    assert_string_equal(why.text, expected);
    assert_int_equal(seen.objects, 0);
}

int main(void) {
    const char *emulated = getenv("TEST_EMULATED");
    if (emulated && *emulated) {
        puts("SKIP: an emulated process has its emulator mapped");
        return 77;
    }
    return tests_run(NULL, NULL);
}
