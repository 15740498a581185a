/* SPDX-License-Identifier: MIT */
/* A workload to tune: a thread with a probe whose value is a known function of the configuration,
 * so that the result of a run is known exactly. configure() returns when the thread has seen the
 * configuration. */
#ifndef SPEX_TEST_TUNED_H
#define SPEX_TEST_TUNED_H

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <spex/atomic.h>
#include <spex/probe.h>
#include <spex/spex.h>
#include <spex/tune.h>

#include "../check.h"

enum { VALUE = 1, OTHER = 2, BATCHES = 5, MODES = 2, CONFIGURATIONS = BATCHES * MODES };

SPEX_PROBE_NAME(VALUE, "tune.value");
SPEX_PROBE_NAME(OTHER, "tune.other");

static struct {
    pthread_t thread;
    uint32_t wanted; /* configuration, 1 + an index */
    uint32_t seen;
    bool ending;
} work;

static inline uint64_t truth_of(size_t batch, size_t mode) {
    return 100 + 10 * (uint64_t)labs((long)batch - 3) + 5 * mode;
}

static inline void *work_run(void *arg) {
    const struct timespec pause = {.tv_nsec = 20000};
    (void)arg;
    while (!spex_load_acquire(&work.ending)) {
        uint32_t now = spex_load_acquire(&work.wanted);
        spex_store_release(&work.seen, now);
        if (now)
            SNAPSHOT_PROBE(VALUE, 1, truth_of((now - 1) / MODES, (now - 1) % MODES), 7);
        CNT_PROBE_BEGIN(OTHER, 1);
        CNT_PROBE_END(OTHER);
        nanosleep(&pause, NULL); /* so that rings do not fill */
    }
    return NULL;
}

static inline void work_begin(void) {
    work.wanted = work.seen = 0;
    work.ending = false;
    assert_int_equal(pthread_create(&work.thread, NULL, work_run, NULL), 0);
}

static inline void work_end(void) {
    spex_store_release(&work.ending, true);
    pthread_join(work.thread, NULL);
}

static inline uint32_t in_force(void) {
    return spex_load_acquire(&work.seen);
}

static inline uint32_t configuration(const size_t *levels) {
    return (uint32_t)(levels[0] * MODES + levels[1] + 1);
}

/* What callbacks have seen; of the tuning thread until it has ended. */
struct seen {
    unsigned configured;
    unsigned finished;
    int result;
    char why[256];
    uint64_t records;
    unsigned wrong;
    size_t refused; /* batch level that configure() refuses */
    bool stop;      /* configure() asks for the end */
    int nested;     /* what starting another from configure() says */
};

static struct seen seen;

static inline int configure(void *user, const struct spex_space *space, const size_t *levels) {
    struct seen *s = user;
    (void)space;
    s->configured++;
    if (levels[0] == s->refused)
        return -EIO;
    if (s->stop)
        spex_tune_stop();
    uint32_t wanted = configuration(levels);
    spex_store_release(&work.wanted, wanted);
    while (spex_load_acquire(&work.seen) != wanted)
        sched_yield();
    return 0;
}

static inline void finished(void *user, const struct spex_tune_report *report) {
    struct seen *s = user;
    s->finished++;
    s->result = report->result;
    s->wrong += !report->running;
    memcpy(s->why, report->why, sizeof(s->why));
    spex_tune_stop(); /* does not wait for itself */
}

static const struct spex_value batches[BATCHES] = {
    {.integer = 1}, {.integer = 2}, {.integer = 4}, {.integer = 8}, {.integer = 16}};
static const struct spex_value modes[MODES] = {{.text = "calm"}, {.text = "wild"}};
static const struct spex_parameter parameters[] = {
    {.name = "batch",
     .kind = SPEX_INTEGER,
     .logarithmic = true,
     .count = BATCHES,
     .values = batches,
     .default_level = 1},
    {.name = "mode", .kind = SPEX_CATEGORICAL, .count = MODES, .values = modes},
};
static const struct spex_criterion criterion = {
    .probe = "tune.value:snapshot", .metric = "mean", .goal = SPEX_MINIMISE};

static inline struct spex_space space_for(void) {
    return (struct spex_space){
        .size = sizeof(struct spex_space),
        .name = "test",
        .parameter_count = 2,
        .parameters = parameters,
        .threads_parameter = 2,
        .criterion_count = 1,
        .criteria = &criterion,
        .rules = {.trials_per_config = 2, .records_per_thread = 20},
    };
}

static inline struct spex_tune_options options_for(const struct spex_space *space) {
    memset(&seen, 0, sizeof(seen));
    seen.refused = SIZE_MAX;
    return (struct spex_tune_options){
        .size = sizeof(struct spex_tune_options),
        .space = space,
        .policy = spex_policy_named("grid"),
        .configure = configure,
        .finished = finished,
        .user = &seen,
    };
}

static inline int start_spex(const char *probes) {
    const struct spex_options options = {
        .size = sizeof(options), .probes = probes, .out = "/dev/null"};
    return spex_start(&options);
}

static inline void tune_begin(const struct spex_tune_options *options) {
    char why[256] = "";
    int err = spex_tune_start(options, why, sizeof(why));
    if (err)
        fail_msg("%d: %s", err, why);
}

static inline struct spex_tune_report look(void) {
    struct spex_tune_report report = {.size = sizeof(report)};
    assert_int_equal(spex_tune_look(&report), 0);
    return report;
}

/* Until its thread has done all. */
static inline struct spex_tune_report tune_wait(void) {
    while (look().running)
        sched_yield();
    return look();
}

static inline int set_up(void **state) {
    (void)state;
    work_begin();
    return start_spex(NULL);
}

static inline int tear_down(void **state) {
    (void)state;
    spex_tune_stop();
    spex_stop();
    work_end();
    return 0;
}

static inline void check_trial(void *user, const struct spex_tune_trial *trial) {
    unsigned *wrong = user;
    double truth = (double)truth_of(trial->levels[0], trial->levels[1]);
    *wrong += trial->size != sizeof(*trial) || !trial->ok || strcmp(trial->status, "ok") != 0 ||
              trial->measured[0].value != truth || trial->records_used < 20 ||
              trial->records_lost != 0 || !(trial->seconds > 0);
}

#endif
