/* SPDX-License-Identifier: MIT */
/* Explorations without memory, one allocation at a time: what fails says so, frees what it has, and
 * leaves the store as it was. */
#include <spex/config.h>

#include "../scarce_memory.h"
#include "explore/space/config_file.h"
#include "explore/space/template.h"
#include "explore/store/store_metrics.h"
#include "explored.h"
#include "store_bench.h"

/* An error of memory says so. */
static int checked(int err, const char *why) {
    if (err == -ENOMEM ? !strstr(why, "memory") : err)
        fail_msg("%d: %s", err, why);
    return err;
}

/* Every kind of parameter, condition, criterion, and part of an agent. */
static const char all_kinds[] =
    "<space name='s'><load stressor='cpu' workers='{threads}' options='--cpu-load {threads}'/>"
    "<environment name='THREADS' value='{threads}'/><configuration descriptor='3'/>"
    "<setup command='make {threads}'/><teardown command='echo' timeout='0.5'/>"
    "<parameter name='threads' type='integer' min='1' max='4'/>"
    "<parameter name='sizes' type='integer' values='8 16 32'/>"
    "<parameter name='mode' type='categorical' values='fast slow'/>"
    "<parameter name='sync' type='boolean'/>"
    "<parameter name='ratio' type='real' values='0.5 1' when=\"$mode = 'fast'\"/>"
    "<constraint require='$threads &lt; 4 or $sync'/>"
    "<objective probe='q:lat' metric='p99' goal='minimise'/>"
    "<objective probe='r:tpt' metric='throughput' goal='maximise'/>"
    "<limit probe='q:lat' metric='mean' at_most='1'/>"
    "<run threads='threads' seed='3'/><heatmap x='threads' y='sizes'/></space>";

/* Every kind of figure of a command. */
#define COMMANDS                                                                                   \
    "<objective command='wall' goal='minimise'/>"                                                  \
    "<objective output='[^0-9]([0-9]+)' goal='minimise'/>"                                         \
    "<objective json='/a' goal='maximise'/><limit measure='echo 2' at_most='3'/>"

static const char all_commands[] =
    "<space name='s'><parameter name='n' type='integer' values='1 2'/>" COMMANDS "</space>";

static int space_reads(void *user) {
    struct spex_error why = {""};
    struct spex_space_file *file = NULL;
    int err = spex_space_parse("made", user, &file, &why);
    if (err)
        return file ? -EINVAL : checked(err, why.text);
    char *identity = spex_space_identity(file);
    err = identity ? 0 : -ENOMEM;
    free(identity);
    spex_space_free(file);
    return err;
}

TEST(spaces) {
    const char *const all[] = {all_kinds, all_commands};
    for (size_t a = 0; a < 2; a++) {
        void *text = (void *)(uintptr_t)all[a];
        assert_int_equal(space_reads(text), 0);
        assert_true(without_each_allocation(space_reads, text) > 20);
    }
}

/* To the file and back. */
static int config_goes(void *user) {
    const struct spex_space_file *file = user;
    static const size_t levels[] = {2, 1, 0, 1, 1};
    struct spex_error why = {""};
    struct spex_config *config = (void *)1;
    char *filled = NULL;
    uint64_t named;
    int err = spex_config_write("config.xml", &file->space, levels, &why);
    err = err ? err : spex_template_check("{threads} of {ratio}", &file->space, &named, &why);
    if (err)
        return checked(err, why.text);
    err = spex_template_fill("{threads} of {ratio}", &file->space, levels, &filled);
    free(filled);
    if (err)
        return err;
    err = spex_config_read("config.xml", &config, why.text, sizeof(why.text));
    if (err)
        return config ? -EINVAL : checked(err, why.text);
    spex_config_free(config);
    return 0;
}

TEST(configurations) {
    struct spex_space_file *file = space_of(all_kinds);
    assert_int_equal(config_goes(file), 0);
    assert_true(without_each_allocation(config_goes, file) > 4);
    spex_space_free(file);
}

/* A trial with all that one may have. */
static int store_takes(struct spex_store *store, const struct spex_space *space, uint64_t number,
                       struct spex_error *why) {
    struct spex_trial trial;
    struct spex_unfinished unfinished = {.asked = number + 1, .told = 1};
    if (spex_trial_init(&trial, space, (size_t[]){1, 1}))
        return spex_fail(why, -ENOMEM, "out of memory");
    trial.ok = true;
    trial.measured[0] = (struct spex_measured){.value = 1, .error = 0.1};
    trial.asked = number;
    trial.usage.known = true;
    spex_trial_end(&trial, "ok");
    trial.note = strdup("a note");
    trial.metrics = calloc(1, sizeof(*trial.metrics));
    trial.metric_count = trial.metrics != NULL;
    if (trial.metrics)
        *trial.metrics = (struct spex_trial_metric){.probe_id = 7, .id = 7, .probe_type = SPEX_LAT};
    int err = spex_trial_add_load(&trial, "cpu", 1, &trial.usage)
                  ? spex_fail(why, -ENOMEM, "out of memory")
                  : spex_store_put(store, number, space, &trial, &unfinished, 1, why);
    spex_trial_free(&trial);
    return err;
}

static int store_is_read(const char *path, struct spex_error *why) {
    struct spex_store *store = (void *)1;
    struct spex_unfinished *unfinished = NULL;
    struct spex_circumstances *machines = NULL;
    char *directory = NULL;
    size_t count = 0;
    int err = spex_store_read(path, &store, why);
    if (err)
        return store ? -EINVAL : err;
    err = spex_store_machines(store, &machines, &count, why);
    spex_store_machines_free(&machines, &count);
    err = err ? err : spex_store_unfinished(store, &unfinished, &count, why);
    free(unfinished);
    err = err ? err : spex_store_directory(store, &directory, why);
    free(directory);
    err = err ? err : spex_store_metrics(store, take_none, NULL, why);
    spex_store_close(store);
    return err;
}

/* Made, written and read. */
static int store_goes(void *user) {
    const struct spex_space_file *file = user;
    struct spex_error why = {""};
    struct spex_store *store = (void *)1;
    struct spex_circumstances now;
    unlink(PATH);
    int err = spex_store_open(PATH, file, "grid", program, &store, &why);
    if (err)
        return store ? -EINVAL : checked(err, why.text);
    if (spex_circumstances_now(program[0], &now)) {
        spex_store_close(store);
        return -ENOMEM;
    }
    err = spex_store_begin(store, &now, false, &why);
    spex_circumstances_free(&now);
    err = err ? err : spex_store_set_directory(store, "/nowhere", &why);
    for (uint64_t number = 1; !err && number <= 2; number++)
        err = store_takes(store, &file->space, number, &why);
    spex_store_close(store);
    return checked(err ? err : store_is_read(PATH, &why), why.text);
}

TEST(stores) {
    struct spex_space_file *file = space_of(xml);
    assert_int_equal(store_goes(file), 0);
    assert_true(without_each_allocation(store_goes, file) > 30);
    spex_space_free(file);
}

static int study_reads(void *user) {
    struct spex_study study;
    struct spex_error why = {""};
    (void)user;
    int err = spex_study_read(&study, "trials.db", &why);
    spex_study_free(&study);
    return checked(err, why.text);
}

static char last_failure[256];

struct exploration {
    struct spex_explore_options options;
    bool fresh;     /* each time into a store of its own */
    bool unfailing; /* no trial fails but for want of memory */
    uint64_t trials, expected;
};

/* `user` is the number of trials; a reason of a failed one is told. */
static void note_trials(void *user, const struct spex_progress *progress) {
    *(uint64_t *)user = progress->trials;
    snprintf(last_failure, sizeof(last_failure), "%s",
             progress->last_failure ? progress->last_failure : "");
}

/* What was begun is cleared away, and a whole exploration has all of its trials. */
static int exploration_goes(void *user) {
    struct exploration *exploration = user;
    char why[512] = "";
    if (exploration->fresh)
        unlink("trials.db");
    exploration->trials = 0;
    int err = spex_explore(&exploration->options, why, sizeof(why));
    scarce_left += scarce_left > 0; /* scandir() of expect_nothing_left() */
    expect_nothing_left();
    assert_true(err || exploration->trials == exploration->expected);
    if (exploration->unfailing && *last_failure && !strstr(last_failure, "memory"))
        fail_msg("%s", last_failure);
    return checked(err, why);
}

static struct exploration exploration_of(const char *policy, const char *what, const char *space) {
    static char *argv[5];
    memcpy(argv, PROGRAM(what), sizeof(argv));
    write_space(space);
    return (struct exploration){.options = {.size = sizeof(struct spex_explore_options),
                                            .space = "space.xml",
                                            .policy = policy,
                                            .store = "trials.db",
                                            .argv = argv,
                                            .stop_fd = -1,
                                            .progress = note_trials}};
}

TEST(explorations) {
    struct exploration exploration = exploration_of("grid", "end", SPACE(A("3"), RUN("")));
    exploration.options.user = &exploration.trials;
    exploration.fresh = true;
    exploration.expected = 1;
    assert_int_equal(exploration_goes(&exploration), 0);
    assert_true(without_each_allocation(exploration_goes, &exploration) > 50);
}

/* Nothing else is said of the command than that there is no memory. */
TEST(commands) {
    static char *argv[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c",
                           (char *)(uintptr_t) "echo '{\"a\":' {n}}", NULL};
    struct exploration exploration = exploration_of("grid", "end", all_commands);
    exploration.options.argv = argv;
    exploration.options.user = &exploration.trials;
    exploration.fresh = true;
    exploration.expected = 2;
    exploration.unfailing = true;
    assert_int_equal(exploration_goes(&exploration), 0);
    assert_true(without_each_allocation(exploration_goes, &exploration) > 50);
}

/* All is in the store, and the policy is asked and told again. */
TEST(resumed_explorations) {
    struct exploration exploration =
        exploration_of("tpe", "end", SPACE(A("3 10"), RUN("trials='2'")));
    exploration.options.user = &exploration.trials;
    exploration.expected = 2;
    unlink("trials.db");
    assert_int_equal(exploration_goes(&exploration), 0);
    assert_true(without_each_allocation(exploration_goes, &exploration) > 50);
    assert_true(without_each_allocation(study_reads, NULL) > 30);
}

/* The failed trial waits for its repetition, which fails as well. */
TEST(repeated_explorations) {
    struct exploration exploration = exploration_of("grid", "fail", SPACE(A("3"), RUN("")));
    exploration.options.user = &exploration.trials;
    exploration.options.retry_failed = true;
    exploration.expected = 1;
    unlink("trials.db");
    assert_int_equal(exploration_goes(&exploration), 0);
    assert_true(without_each_allocation(exploration_goes, &exploration) > 50);
}

int main(int argc, char **argv) {
    int status;
    if (is_the_program(argc, argv, &status))
        return status;
    return tests_run(explored_enter, explored_leave);
}
