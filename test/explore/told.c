/* SPDX-License-Identifier: MIT */
/* What a policy is told of each trial is what the store has of it, the failed ones included; again,
 * when the exploration goes on, except of a failed one that was repeated: that it failed. The first
 * argument is the policy. */
#include "explored.h"

static char policy[512], why[512];

static struct spex_progress last;

static void see_progress(void *user, const struct spex_progress *progress) {
    (void)user;
    last = *progress;
}

static void explore(bool retry_failed) {
    static char script[] = "[ {a} = 7 -a ! -e well ] && exec \"$0\" program fail {a}; "
                           "exec \"$0\" program steady {a}";
    char *const argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", script, self_path,
                          NULL};
    struct spex_explore_options options = {.size = sizeof(options),
                                           .space = "space.xml",
                                           .policy = policy,
                                           .store = "trials.db",
                                           .argv = argv,
                                           .retry_failed = retry_failed,
                                           .progress = see_progress,
                                           .stop_fd = -1};
    unlink("heard");
    if (spex_explore(&options, why, sizeof(why)))
        fail_msg("%s", why);
    expect_nothing_left();
}

struct heard {
    size_t level;
    int ok;
    double value, error, seconds;
    unsigned long long used, lost, seen;
};

/* The lines, and then the end. */
static size_t hear(struct heard *lines, size_t most) {
    char text[256] = "";
    size_t count = 0;
    FILE *file = fopen("heard", "re");
    assert_non_null(file);
    while (fgets(text, sizeof(text), file) && strcmp(text, "end\n") != 0) {
        struct heard *line = &lines[count++];
        assert_true(count <= most);
        assert_int_equal(sscanf(text, "%zu %d %lg %lg %llu %llu %llu %lg", &line->level, &line->ok,
                                &line->value, &line->error, &line->used, &line->lost, &line->seen,
                                &line->seconds),
                         8);
    }
    assert_string_equal(text, "end\n");
    assert_null(fgets(text, sizeof(text), file));
    fclose(file);
    return count;
}

/* `failed`: it was told that it failed, whatever became of it. */
static void expect_told(const struct heard *line, const struct spex_trial *trial, bool failed) {
    assert_int_equal(line->level, trial->levels[0]);
    assert_int_equal(line->ok, trial->ok && !failed);
    assert_true(line->ok ? line->value == trial->measured[0].value : line->value == -1);
    if (line->ok && !isnan(trial->measured[0].error))
        assert_true(line->error == trial->measured[0].error);
    if (failed)
        return;
    assert_int_equal(line->used, trial->records_used);
    assert_int_equal(line->lost, trial->records_lost);
    assert_true(line->seconds == trial->seconds);
}

static void expect_all_told(const char *store, bool again, bool repeated) {
    struct spex_study study;
    struct spex_error error;
    struct heard lines[8];
    assert_int_equal(spex_study_read(&study, store, &error), 0);
    assert_int_equal(study.trials.count, 6);
    assert_int_equal(hear(lines, COUNT_OF(lines)), 6);
    for (size_t t = 0; t < 6; t++) {
        expect_told(&lines[t], &study.trials.items[t], repeated && t % 3 == 1);
        if (lines[t].ok && !again) /* what is measured has been seen */
            assert_true(lines[t].seen >= lines[t].used && lines[t].used > 0);
    }
    spex_study_free(&study);
}

TEST(told) {
    write_space(SPACE(A("3 7 20"), RUN("")));
    explore(false);
    expect_all_told("trials.db", false, false);
    assert_int_equal(last.trials, 6);
    assert_int_equal(last.trials_expected, 6);
    assert_int_equal(last.failed, 2);
    assert_int_equal(last.resumed, 0);
    explore(false);
    expect_all_told("trials.db", true, false);
    assert_int_equal(last.resumed, 6);
    scratch_write("well", "", 0);
    explore(true);
    expect_all_told("trials.db", true, true);
    assert_int_equal(last.trials, 6);
    assert_int_equal(last.failed, 0);
    assert_int_equal(last.resumed, 4);
    explore(true);
    expect_all_told("trials.db", true, true);
    assert_int_equal(last.resumed, 6);
}

int main(int argc, char **argv) {
    int status;
    if (is_the_program(argc, argv, &status))
        return status;
    if (argc != 2 || !realpath(argv[1], policy))
        return 2;
    return tests_run(explored_enter, explored_leave);
}
