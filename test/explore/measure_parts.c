/* SPDX-License-Identifier: MIT */
/* The parts of measuring that are alone: records in the order of time, plans that are checked, texts
 * of criteria, lists of trials, and what a child has used. */
#include <errno.h>
#include <math.h>
#include <sys/wait.h>

#include "measure/criterion.h"
#include "measure/in_order.h"
#include "measure/plan.h"
#include "measure/trial.h"
#include "measure/usage.h"
#include "site/selection.h"
#include "spaces.h"

enum { RECORDS = 5000, BATCH = 37 };

/* Several rings, each in order and each behind by up to so much; what is taken is as if all had been
 * sorted at once. */
TEST(records_are_in_order) {
    struct spex_in_order waiting = {0};
    uint64_t random = 1, taken_to = 0, until = 0;
    size_t taken = 0, count;
    bool seen[RECORDS] = {false};
    for (size_t made = 0; made < RECORDS;) {
        struct spex_record records[BATCH];
        size_t batch = random_below(&random, BATCH + 1);
        batch = batch < RECORDS - made ? batch : RECORDS - made;
        for (size_t r = 0; r < batch; r++)
            records[r] = (struct spex_record){.timestamp = until + random_below(&random, 500),
                                              .probe_id = (uint16_t)(made + r)};
        made += batch;
        assert_int_equal(spex_in_order_add(&waiting, records, batch), 0);
        until += made == RECORDS ? 1000 : random_below(&random, 300);
        const struct spex_record *earliest = spex_in_order_take(&waiting, until, &count);
        for (size_t r = 0; r < count; r++) {
            assert_true(earliest[r].timestamp >= taken_to && earliest[r].timestamp < until);
            taken_to = earliest[r].timestamp;
            assert_false(seen[earliest[r].probe_id]);
            seen[earliest[r].probe_id] = true;
        }
        taken += count;
        assert_int_equal(waiting.count - waiting.handed_out, made - taken);
    }
    assert_int_equal(taken, RECORDS);
    spex_in_order_take(&waiting, UINT64_MAX, &count);
    assert_int_equal(count, 0);
    assert_int_equal(waiting.count, 0);
    assert_int_equal(spex_in_order_add(&waiting, NULL, 0), 0);
    /* A record of the very time is not before it. */
    assert_int_equal(spex_in_order_add(&waiting, &(struct spex_record){.timestamp = 9}, 1), 0);
    spex_in_order_take(&waiting, 9, &count);
    assert_int_equal(count, 0);
    spex_in_order_take(&waiting, 10, &count);
    assert_int_equal(count, 1);
    spex_in_order_free(&waiting);
    assert_null(waiting.records);
}

/* Three numbers of threads, and a mode; one probe in two objectives. */
static const char space_text[] =
    "<space name='s'><parameter name='threads' type='integer' min='1' max='3'/>"
    "<parameter name='mode' type='categorical' values='on off' default='off'/>"
    "<objective probe='q:tpt' metric='throughput' goal='maximise'/>"
    "<objective probe='q:lat' metric='p99' goal='minimise'/>"
    "<objective probe='q:tpt' metric='mean' goal='minimise'/>"
    "<run threads='threads' duration='4'/></space>";

/* What the policy plans, and how it answers. */
static struct spex_plan planned;
static size_t levels[2];
static int policy_answer;
static bool changes_levels_array;

static int plans(void *state, struct spex_plan *plan) {
    assert_ptr_equal(state, &planned);
    assert_int_equal(plan->size, sizeof(*plan));
    assert_int_equal(plan->levels[0], 0);
    assert_int_equal(plan->levels[1], 1); /* the default */
    assert_true(plan->duration_seconds == 4);
    assert_string_equal(plan->probes, "q:tpt");
    memcpy(plan->levels, levels, sizeof(levels));
    if (planned.duration_seconds != 0)
        plan->duration_seconds = planned.duration_seconds;
    if (planned.probes)
        plan->probes = *planned.probes ? planned.probes : NULL;
    if (changes_levels_array)
        plan->levels = levels;
    return policy_answer;
}

static struct spex_error why;

static int ask(const struct spex_space *space, bool waiting, int answer, size_t threads,
               size_t mode, double seconds) {
    static const struct spex_policy_ops policy = {.name = "made", .next = plans};
    static size_t room[2];
    const struct spex_asking asking = {.policy = &policy,
                                       .state = &planned,
                                       .space = space,
                                       .probes = "q:tpt",
                                       .levels = room,
                                       .waiting = waiting};
    struct spex_plan plan;
    levels[0] = threads;
    levels[1] = mode;
    planned.duration_seconds = seconds;
    policy_answer = answer;
    why.text[0] = '\0';
    int got = spex_plan_ask(&asking, &plan, &why);
    if (got == 1) {
        assert_ptr_equal(plan.levels, room);
        assert_int_equal(room[0], threads);
        assert_int_equal(room[1], mode);
        assert_true(plan.duration_seconds == (seconds != 0 ? seconds : 4));
    }
    return got;
}

TEST(plans_are_checked) {
    static const char outside[] = "policy \"made\" planned what is not in the space";
    struct spex_space_file *file = space_of(space_text);
    const struct spex_space *space = &file->space;
    assert_int_equal(ask(space, false, 1, 2, 0, 0), 1);
    assert_int_equal(ask(space, false, 1, 0, 1, 0.1), 1);
    assert_int_equal(ask(space, false, 0, 9, 9, 0), 0);
    assert_int_equal(ask(space, true, -EAGAIN, 0, 0, 0), -EAGAIN);
    assert_string_equal(why.text, "");
    assert_int_equal(ask(space, false, -EAGAIN, 0, 0, 0), -EAGAIN);
    assert_non_null(strstr(why.text, "policy \"made\" gave up: "));
    assert_int_equal(ask(space, true, -EIO, 0, 0, 0), -EIO);
    assert_string_equal(why.text, "policy \"made\" gave up: Input/output error");
    static const struct {
        size_t threads, mode;
        double seconds;
    } wrong[] = {{3, 0, 0}, {0, 2, 0}, {0, 0, 4.1}, {0, 0, -1}, {0, 0, NAN}};
    for (size_t w = 0; w < COUNT_OF(wrong); w++) {
        assert_int_equal(ask(space, false, 1, wrong[w].threads, wrong[w].mode, wrong[w].seconds),
                         -ERANGE);
        assert_string_equal(why.text, outside);
    }
    planned.probes = "";
    assert_int_equal(ask(space, false, 1, 0, 0, 0), -ERANGE);
    planned.probes = "other";
    assert_int_equal(ask(space, false, 1, 0, 0, 0), 1);
    planned.probes = NULL;
    changes_levels_array = true;
    assert_int_equal(ask(space, false, 1, 0, 0, 0), -ERANGE);
    changes_levels_array = false;
    spex_space_free(file);
}

TEST(texts_of_criteria) {
    static const struct {
        struct spex_criterion criterion;
        const char *text, *identity, *label;
    } cases[] = {
        {{.probe = "q:tpt", .metric = "throughput", .goal = SPEX_MAXIMISE},
         "maximise throughput of q:tpt",
         "maximise throughput of q:tpt",
         "throughput of q:tpt [/s]"},
        {{.probe = "q:lat@100", .metric = "p99", .goal = SPEX_AT_MOST, .bound = 0.0025},
         "p99 of q:lat@100 at most 2.5 ms",
         "p99 of q:lat@100 at most 0.0025 s",
         "p99 of q:lat@100 [s]"},
        {{.probe = "q:tpt", .metric = "throughput", .goal = SPEX_AT_LEAST, .bound = 25000},
         "throughput of q:tpt at least 25 k/s",
         "throughput of q:tpt at least 25000/s",
         "throughput of q:tpt [/s]"},
        {{.probe = "q:snapshot", .metric = "mean", .field = 2, .goal = SPEX_MINIMISE},
         "minimise mean of q:snapshot[2]",
         "minimise mean of q:snapshot[2]",
         "mean of q:snapshot[2]"},
        {{.probe = "q:llc", .metric = "max", .goal = SPEX_AT_MOST, .bound = 1.0 / 3},
         "max of q:llc at most 0.333333",
         "max of q:llc at most 0.333333333333333",
         "max of q:llc"},
    };
    char text[128];
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        spex_criterion_text(&cases[c].criterion, text, sizeof(text));
        assert_string_equal(text, cases[c].text);
        spex_criterion_identity(&cases[c].criterion, text, sizeof(text));
        assert_string_equal(text, cases[c].identity);
        spex_criterion_label(&cases[c].criterion, text, sizeof(text));
        assert_string_equal(text, cases[c].label);
    }
    struct spex_space_file *file = space_of(space_text);
    char *probes = spex_criteria_probes(&file->space);
    assert_string_equal(probes, "q:tpt,q:lat");
    free(probes);
    spex_space_free(file);
}

/* Which types have which metrics. */
TEST(metrics_of_types) {
    static const struct {
        const char *metric;
        bool cnt, lat, snapshot;
    } cases[] = {
        {"throughput", true, true, false}, {"mean", false, true, true},
        {"min", false, true, true},        {"max", false, true, true},
        {"p50", false, true, true},        {"p99.9", false, true, true},
        {"p0", false, false, false},       {"p0.1", false, true, true},
        {"p100", false, false, false},     {"p", false, false, false},
        {"q50", false, false, false},      {"50", false, false, false},
        {"means", false, false, false},    {"", false, false, false},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        assert_int_equal(spex_criterion_fits(cases[c].metric, SPEX_CNT), cases[c].cnt);
        assert_int_equal(spex_criterion_fits(cases[c].metric, SPEX_LAT), cases[c].lat);
        assert_int_equal(spex_criterion_fits(cases[c].metric, SPEX_SNAPSHOT), cases[c].snapshot);
    }
}

/* Lists grow by what is added, and own it. */
TEST(trials_in_lists) {
    struct spex_space_file *file = space_of(space_text);
    struct spex_trials trials = {NULL, 0};
    const struct spex_usage usage = {.known = true, .user_seconds = 2};
    for (size_t t = 0; t < 40; t++) {
        struct spex_trial trial;
        assert_int_equal(spex_trial_init(&trial, &file->space, (size_t[]){t % 3, t % 2}), 0);
        for (size_t c = 0; c < file->space.criterion_count; c++)
            assert_true(isnan(trial.measured[c].value) && isnan(trial.measured[c].error));
        assert_int_equal(spex_trial_end(&trial, "first"), 1);
        assert_int_equal(spex_trial_end(&trial, "%zu of %s", t, "many"), 1);
        for (unsigned l = 0; l < t % 4; l++)
            assert_int_equal(spex_trial_add_load(&trial, "cpu", l + 5, &usage), 0);
        assert_int_equal(spex_trials_add(&trials, &trial), 0);
        assert_null(trial.levels);
        spex_trial_free(&trial);
    }
    assert_int_equal(trials.count, 40);
    for (size_t t = 0; t < 40; t++) {
        char status[32];
        const struct spex_trial *trial = &trials.items[t];
        snprintf(status, sizeof(status), "%zu of many", t);
        assert_string_equal(trial->status, status);
        assert_int_equal(trial->levels[0], t % 3);
        assert_int_equal(trial->levels[1], t % 2);
        assert_int_equal(trial->load_count, t % 4);
        for (unsigned l = 0; l < t % 4; l++) {
            assert_string_equal(trial->loads[l].stressor, "cpu");
            assert_int_equal(trial->loads[l].workers, l + 5);
            assert_true(trial->loads[l].usage.user_seconds == 2);
        }
    }
    spex_trials_free(&trials);
    assert_int_equal(trials.count, 0);
    spex_space_free(file);
}

enum { WRITTEN = 1 << 20, MEMORY = 64 << 20, WAITS = 20 };

/* Writes and reads a mebibyte, touches memory, and waits. */
static void use(void) {
    static char bytes[WRITTEN];
    int ends[2];
    char *memory = malloc(MEMORY);
    if (!memory || pipe(ends) != 0)
        _exit(1);
    for (size_t b = 0; b < MEMORY; b += 1024)
        ((volatile char *)memory)[b] = 1;
    for (size_t b = 0; b < WRITTEN; b += 1024)
        if (write(ends[1], bytes, 1024) != 1024 || read(ends[0], bytes, 1024) != 1024)
            _exit(1);
    for (int w = 0; w < WAITS; w++)
        usleep(100);
    _exit(0);
}

TEST(a_child_has_used_what_it_did) {
    struct spex_usage usage;
    pid_t child = fork();
    if (child == 0)
        use();
    spex_usage_reap(child, &usage);
    assert_true(usage.known);
    assert_true(usage.user_seconds >= 0 && usage.system_seconds >= 0);
    assert_true(usage.user_seconds + usage.system_seconds > 0);
    assert_in_range(usage.max_rss_bytes, MEMORY, UINT64_C(4) << 30);
    assert_true(usage.minor_faults > 0);
    assert_true(usage.voluntary_switches >= WAITS / 2);
    if (usage.io_known) {
        assert_in_range(usage.written_bytes, WRITTEN, WRITTEN + 65536);
        assert_in_range(usage.read_bytes, WRITTEN, WRITTEN + 65536);
    }
    for (unsigned c = 0; c < SPEX_USAGE_COUNTS; c++)
        assert_int_equal(spex_usage_count_known(&usage, c), c < SPEX_USAGE_IO || usage.io_known);
    /* It has been waited for, and is not known any more. */
    assert_int_equal(waitpid(child, NULL, 0), -1);
    spex_usage_reap(child, &usage);
    assert_false(usage.known || usage.io_known);
    assert_int_equal(usage.max_rss_bytes, 0);
}
