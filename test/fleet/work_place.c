/* SPDX-License-Identifier: MIT */
/* A host's place for trials: one process has it at a time, what others have left there is removed,
 * and nothing is taken that somebody else may write to. */
#define _GNU_SOURCE
#include "../explore/scratch.h"

#include <errno.h>
#include <sys/file.h>

#include "explore/trial/program_run.h"
#include "fleet/trials/work_place.h"

static const char xml[] =
    "<space name=\"test\"><parameter name=\"a\" type=\"integer\" values=\"1 2 4\"/>"
    "<objective probe=\"work:tpt\" metric=\"throughput\" goal=\"maximise\"/>"
    "<run duration=\"5\"/></space>";

static char home[512], trials[600];
static char program_name[] = "/bin/true", good[] = "-a{a}", bad[] = "{b}";
static char *const program[] = {program_name, good, NULL}, *const wrong[] = {program_name, bad,
                                                                             NULL};

/* What happens to the place between its opening and its lock, the next so many times. */
static enum { NOTHING, IS_REMOVED, IS_REPLACED } meanwhile;
static int times, locks;

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

int __wrap_flock(int fd, int operation) {
    locks++;
    if (times > 0) {
        char away[560];
        snprintf(away, sizeof(away), "%s.%d", home, times--);
        assert_int_equal(rename(home, away), 0);
        if (meanwhile == IS_REPLACED)
            assert_int_equal(mkdir(home, 0700), 0);
    }
    return __real_flock(fd, operation);
}

static struct spex_work_place place;
static struct spex_error why;
static size_t descriptors;

static int begin(void **state) {
    (void)state;
    setenv("TMPDIR", scratch_path, 1);
    scratch_text("space.xml", xml);
    char *whole = realpath(scratch_path, NULL);
    snprintf(home, sizeof(home), "%s/spex-agent-%u", whole, (unsigned)geteuid());
    snprintf(trials, sizeof(trials), "%s/spex-trials", home);
    free(whole);
    why = (struct spex_error){""};
    meanwhile = NOTHING;
    locks = 0;
    descriptors = open_descriptors();
    return 0;
}

/* Nothing is left of any place. */
static int end(void **state) {
    (void)state;
    assert_int_equal(access(home, F_OK), -1);
    assert_int_equal(open_descriptors(), descriptors);
    return 0;
}

static int open_place(struct spex_work_place *which) {
    return spex_work_place_open("space.xml", program, which, &why);
}

static void expect_mine(void) {
    struct stat ours, there;
    assert_int_equal(fstat(place.lock, &ours), 0);
    assert_int_equal(lstat(home, &there), 0);
    assert_true(ours.st_ino == there.st_ino && ours.st_dev == there.st_dev);
    assert_int_equal(there.st_mode & 07777, 0700);
    assert_string_equal(place.home, home);
    assert_string_equal(place.directory, trials);
    assert_int_equal(lstat(trials, &there), 0);
    assert_int_equal(there.st_mode & 07777, 0700);
    assert_non_null(place.file);
    assert_non_null(place.runner);
    assert_ptr_equal(place.argv, program);
    assert_int_equal(fcntl(place.lock, F_GETFD), FD_CLOEXEC);
}

static void expect_none(const struct spex_work_place *none) {
    assert_int_equal(none->lock, -1);
    assert_null(none->file);
    assert_null(none->runner);
}

TEST_WITH(one_process_has_it_at_a_time, begin, end) {
    struct spex_work_place other;
    char expected[1024];
    assert_int_equal(open_place(&place), 0);
    expect_mine();
    size_t open = open_descriptors();
    assert_int_equal(open_place(&other), -EBUSY);
    snprintf(
        expected, sizeof(expected),
        "another process of this user runs trials on this host already (%s), and two at a time "
        "would disturb each other",
        home);
    assert_string_equal(why.text, expected);
    expect_none(&other);
    assert_int_equal(open_descriptors(), open);
    expect_mine();
    spex_work_place_close(&place);
    expect_none(&place);
    assert_int_equal(access(home, F_OK), -1);
    assert_int_equal(open_place(&place), 0);
    expect_mine();
    spex_work_place_close(&place);
    spex_work_place_close(&place);
}

/* A process that was killed leaves its folders. */
TEST_WITH(what_was_left_is_removed, begin, end) {
    char inner[700], config[800];
    snprintf(inner, sizeof(inner), "%s/0", trials);
    snprintf(config, sizeof(config), "%s/" SPEX_TRIAL_CONFIG, inner);
    assert_true(mkdir(home, 0700) == 0 && mkdir(trials, 0700) == 0 && mkdir(inner, 0700) == 0);
    scratch_text(config, "a");
    assert_int_equal(open_place(&place), 0);
    expect_mine();
    assert_int_equal(access(config, F_OK), -1);
    spex_work_place_close(&place);
    /* What is not of spex stays, and so does the place. */
    snprintf(inner, sizeof(inner), "%s/mine", trials);
    assert_true(mkdir(home, 0700) == 0 && mkdir(trials, 0700) == 0 && mkdir(inner, 0700) == 0);
    assert_int_equal(open_place(&place), -EEXIST);
    expect_none(&place);
    assert_int_equal(access(inner, F_OK), 0);
    assert_true(rmdir(inner) == 0 && rmdir(trials) == 0 && rmdir(home) == 0);
}

/* The process before removes the place when it ends; another may have made one by then. */
TEST_WITH(a_place_that_is_removed_meanwhile_is_made_again, begin, end) {
    for (int n = IS_REMOVED; n <= IS_REPLACED; n++)
        for (int often = 1; often <= 2; often++) {
            char away[560];
            meanwhile = n == IS_REMOVED ? IS_REMOVED : IS_REPLACED;
            times = often;
            locks = 0;
            size_t open = open_descriptors();
            assert_int_equal(open_place(&place), 0);
            assert_int_equal(locks, often + 1);
            expect_mine();
            spex_work_place_close(&place);
            assert_int_equal(open_descriptors(), open);
            assert_int_equal(access(home, F_OK), -1);
            for (int t = 1; t <= often; t++) {
                snprintf(away, sizeof(away), "%s.%d", home, t);
                assert_int_equal(rmdir(away), 0);
            }
        }
}

static void expect_refused(int err, const char *reason) {
    char expected[1024];
    assert_int_equal(open_place(&place), err);
    snprintf(expected, sizeof(expected), "the place for trials %s: %s", home, reason);
    assert_string_equal(why.text, expected);
    expect_none(&place);
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(locks, 0);
}

TEST_WITH(a_place_of_others_is_not_taken, begin, end) {
    static const mode_t modes[] = {0710, 0720, 0740, 0701, 0702, 0704};
    static const char alone[] = "a directory that this user alone can read was expected";
    assert_int_equal(mkdir(home, 0700), 0);
    for (size_t m = 0; m < COUNT_OF(modes); m++) {
        assert_int_equal(chmod(home, modes[m]), 0);
        expect_refused(-EPERM, alone);
    }
    assert_int_equal(chmod(home, 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(home, 65534, 65534), 0);
        expect_refused(-EPERM, alone);
    }
    assert_int_equal(rmdir(home), 0);
    scratch_text(home, "");
    expect_refused(-ENOTDIR, strerror(ENOTDIR));
    assert_int_equal(unlink(home), 0);
    assert_int_equal(mkdir("elsewhere", 0700), 0);
    assert_int_equal(symlink("elsewhere", home), 0);
    expect_refused(-ENOTDIR, strerror(ENOTDIR));
    assert_int_equal(unlink(home), 0);
    assert_int_equal(rmdir("elsewhere"), 0);
}

/* Before anything is made. */
TEST_WITH(without_work_no_place_is_taken, begin, end) {
    assert_int_equal(spex_work_place_open("no.xml", program, &place, &why), -ENOENT);
    expect_none(&place);
    assert_true(spex_work_place_open("space.xml", wrong, &place, &why) < 0);
    assert_non_null(strstr(why.text, "argument 1 of the program, \"{b}\""));
    expect_none(&place);
    setenv("TMPDIR", "/nowhere", 1);
    assert_int_equal(open_place(&place), -ENOENT);
    assert_string_equal(why.text, "no directory for temporary files: No such file or directory");
    expect_none(&place);
    setenv("TMPDIR", scratch_path, 1);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
