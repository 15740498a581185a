/* SPDX-License-Identifier: MIT */
/* Drift is found where there is some, with its size and its time, and no more often than the level
 * says where there is none: also where figures have heavy tails, and where a policy repeats the
 * reference more often as long as it looks good. */
#include <math.h>
#include <time.h>

#include "explore/findings/drift.h"
#include "explore/findings/drift_error.h"
#include "policies/explore/builtin.h"
#include "spaces.h"

enum { TRIALS_MAX = 400, MINUTE = 60 };

static const char line[] = "<space name='s'><parameter name='a' type='integer' min='1' max='2000'/>"
                           "<objective command='wall' goal='minimise'/><run trials='320'/></space>";

struct course {
    struct spex_trial items[TRIALS_MAX];
    struct spex_measured measured[TRIALS_MAX];
    size_t levels[TRIALS_MAX];
    size_t count;
};

static void add(struct course *course, size_t level, double value, bool reference) {
    size_t t = course->count++;
    course->levels[t] = level;
    course->measured[t] = (struct spex_measured){value, NAN};
    course->items[t] = (struct spex_trial){.levels = &course->levels[t],
                                           .ok = isfinite(value),
                                           .measured = &course->measured[t],
                                           .reference = reference,
                                           .finished = (int64_t)t * MINUTE};
}

/* Normal, or of Student's distribution with 2 degrees of freedom. */
static double noise_of(uint64_t *random, bool heavy) {
    double angle = 2 * M_PI * random_part(random);
    double normal = sqrt(-2 * log(1 - random_part(random))) * cos(angle);
    return heavy ? normal / sqrt(-log(1 - random_part(random))) : normal;
}

static struct spex_drift found(const struct spex_space *space, struct course *course) {
    const struct spex_trials trials = {course->items, course->count};
    struct spex_drift drift;
    assert_int_equal(spex_drift_find(space, &trials, &drift), 0);
    return drift;
}

/* `count` trials of the reference with so much noise; those from `from` to `to` have more by the share
 * `more`; `slope` is what all take more in the end. */
static void make(struct course *course, uint64_t *random, size_t count, double noise, size_t from,
                 size_t to, double more, double slope) {
    course->count = 0;
    for (size_t t = 0; t < count; t++) {
        double value = 5 * (1 + noise * noise_of(random, false));
        value *= t >= from && t < to ? 1 + more : 1;
        add(course, 7, value * (1 + slope * (double)t / (double)(count - 1)), true);
    }
}

TEST(a_step) {
    static struct course course;
    struct spex_space_file *file = space_of(line);
    uint64_t random = 5;
    for (unsigned i = 0; i < 50; i++) {
        make(&course, &random, 20, 0.01, 12, 20, 0.12, 0);
        struct spex_drift drift = found(&file->space, &course);
        assert_int_equal(drift.kind, SPEX_DRIFT_STEP);
        assert_true(drift.change > 0.10 && drift.change < 0.14);
        assert_int_equal(drift.from, 11 * MINUTE);
        assert_int_equal(drift.to, 12 * MINUTE);
        assert_int_equal(drift.trials, 20);
        assert_int_equal(drift.levels[0], 7);
    }
    spex_space_free(file);
}

TEST(a_while) {
    static struct course course;
    struct spex_space_file *file = space_of(line);
    uint64_t random = 6;
    make(&course, &random, 40, 0.01, 10, 22, -0.2, 0);
    struct spex_drift drift = found(&file->space, &course);
    assert_int_equal(drift.kind, SPEX_DRIFT_WHILE);
    assert_true(drift.change > -0.22 && drift.change < -0.18);
    assert_int_equal(drift.from, 10 * MINUTE);
    assert_int_equal(drift.to, 21 * MINUTE);
    spex_space_free(file);
}

TEST(a_trend) {
    static struct course course;
    struct spex_space_file *file = space_of(line);
    uint64_t random = 7;
    for (unsigned i = 0; i < 50; i++) {
        make(&course, &random, 30, 0.01, 0, 0, 0, 0.2);
        struct spex_drift drift = found(&file->space, &course);
        assert_int_equal(drift.kind, SPEX_DRIFT_GRADUAL);
        assert_true(drift.change > 0.17 && drift.change < 0.23);
        assert_int_equal(drift.from, 0);
        assert_int_equal(drift.to, 29 * MINUTE);
    }
    spex_space_free(file);
}

/* More trials than are looked at one by one. */
TEST(many) {
    static struct course course;
    struct spex_space_file *file = space_of(line);
    uint64_t random = 8;
    make(&course, &random, 390, 0.05, 200, 390, 0.1, 0);
    struct spex_drift drift = found(&file->space, &course);
    assert_int_equal(drift.kind, SPEX_DRIFT_STEP);
    assert_in_range(drift.from, 190 * MINUTE, 210 * MINUTE);
    spex_space_free(file);
}

/* What it had shown before it became the reference, other configurations and failed trials do not
 * count; few trials tell nothing, and equal ones do not differ. */
TEST(what_does_not_count) {
    static struct course course;
    struct spex_space_file *file = space_of(line);
    uint64_t random = 9;
    for (unsigned i = 0; i < 12; i++)
        add(&course, 7, 3, false);
    assert_null(found(&file->space, &course).levels);
    for (unsigned i = 0; i < 9; i++)
        add(&course, 7, 5 + (i > 4), true);
    for (unsigned i = 0; i < 12; i++) {
        add(&course, 8, 9, false);
        add(&course, 7, NAN, true);
    }
    struct spex_drift drift = found(&file->space, &course);
    assert_int_equal(drift.trials, 9);
    assert_int_equal(drift.kind, SPEX_DRIFT_NONE);
    assert_float_equal(drift.chance, 1, 0);
    make(&course, &random, 20, 0, 0, 0, 0, 0);
    drift = found(&file->space, &course);
    assert_float_equal(drift.chance, 1, 0);
    spex_space_free(file);
}

/* Of 1,000 series without drift 10 are expected, and more than 20 with a probability of 0.001. */
TEST(no_false_alarms) {
    static struct course course;
    struct spex_space_file *file = space_of(line);
    uint64_t random = 10;
    for (unsigned heavy = 0; heavy < 2; heavy++) {
        unsigned told = 0;
        for (unsigned i = 0; i < 1000; i++) {
            course.count = 0;
            for (unsigned t = 0; t < 12 + i % 30; t++)
                add(&course, 7, exp(0.1 * noise_of(&random, heavy)), true);
            told += found(&file->space, &course).kind != SPEX_DRIFT_NONE;
        }
        if (told > 20)
            fail_msg("%u", told);
    }
    spex_space_free(file);
}

/* An exploration by a policy, of a bowl whose figures vary by a tenth; from trial `from` on by `more`. */
static void explore(struct course *course, const char *name, const struct spex_space *space,
                    uint64_t *random, size_t from, double more) {
    const struct spex_policy_ops *policy = spex_builtin_policy(name);
    void *state = calloc(1, policy->state_size(space));
    size_t level = 0;
    course->count = 0;
    assert_int_equal(policy->init(state, space), 0);
    while (course->count < 320) {
        struct spex_plan plan = {.size = sizeof(plan), .levels = &level, .duration_seconds = 1};
        if (policy->next(state, &plan) != 1)
            break;
        double off = ((double)level - 700) / 2000;
        double value = (1 + off * off) * exp(0.1 * noise_of(random, false));
        add(course, level, value * (course->count >= from ? 1 + more : 1), plan.reference);
        struct spex_result result = {.size = sizeof(result),
                                     .levels = &level,
                                     .ok = true,
                                     .measured = &course->measured[course->count - 1]};
        policy->run_finished(state, &result);
    }
    policy->fini(state);
    free(state);
}

static const char *const searching[] = {"gaussian"};

/* By the trials that policies make. Of 100, more than 5 are false with a probability of
 * 0.0005. */
TEST(policies_make_no_false_alarms_and_find_steps) {
    static struct course course;
    struct spex_space_file *file = space_of(line);
    uint64_t random = 11;
    for (size_t p = 0; p < COUNT_OF(searching); p++) {
        unsigned told = 0, seen = 0;
        for (unsigned i = 0; i < 100; i++) {
            explore(&course, searching[p], &file->space, &random, 320, 0);
            told += found(&file->space, &course).kind != SPEX_DRIFT_NONE;
        }
        for (unsigned i = 0; i < 20; i++) {
            explore(&course, searching[p], &file->space, &random, 160, 0.5);
            seen += found(&file->space, &course).kind != SPEX_DRIFT_NONE;
        }
        printf("%s: %u of 100 without drift, %u of 20 with\n", searching[p], told, seen);
        if (told > 5 || seen < 15)
            fail_msg("%s: %u, %u", searching[p], told, seen);
    }
    spex_space_free(file);
}

TEST(sentences) {
    struct spex_space_file *file = space_of(line);
    struct spex_criterion criterion = file->space.criteria[0];
    struct spex_space space = file->space;
    char text[256];
    setenv("TZ", "UTC", 1);
    tzset();
    space.criteria = &criterion;
    struct spex_drift drift = {.kind = SPEX_DRIFT_STEP, .change = 0.12, .from = 50520, .to = 51000};
    assert_string_equal(spex_drift_text(&drift, &space, text, sizeof(text)),
                        "the machine became 12 % slower between 14:02 and 14:10");
    drift.kind = SPEX_DRIFT_WHILE;
    drift.change = -0.031;
    drift.to = 50530;
    assert_string_equal(spex_drift_text(&drift, &space, text, sizeof(text)),
                        "the machine was 3.1 % faster from 14:02:00 to 14:02:10");
    drift.kind = SPEX_DRIFT_GRADUAL;
    criterion.metric = "memory";
    drift.to = 150530;
    assert_string_equal(
        spex_drift_text(&drift, &space, text, sizeof(text)),
        "the machine became 3.1 % better, little by little, from 1 January 14:02 to 2 January "
        "17:48");
    spex_space_free(file);
}

/* What is told of configurations that are repeated in random order, as a search does with those that look
 * best. */
enum { ALTERNATIVES = 3, REPEATS = 80, WORLDS = 50 };

struct told {
    double held,
        before;   /* share of the intervals that hold the truth, and that did so without drift */
    double wider; /* how much wider they are, in the mean */
};

/* The machine's speed is an autoregressive process with this deviation that forgets within 100 trials. */
static struct told told_of(struct spex_space_file *file, double noise, double deviation) {
    static struct course course;
    struct told told = {0};
    uint64_t random = 11;
    for (unsigned w = 0; w < WORLDS; w++) {
        struct spex_summary summary;
        struct spex_final_trials ordered = {.items = NULL};
        struct spex_ranking_input inputs[ALTERNATIVES];
        struct spex_ranking plain[ALTERNATIVES], of[ALTERNATIVES];
        double speed = deviation * noise_of(&random, false);
        size_t best;
        spex_summary_init(&summary, &file->space);
        course.count = 0;
        for (size_t t = 0; t < (size_t)ALTERNATIVES * REPEATS; t++) {
            speed = 0.99 * speed + sqrt(1 - 0.99 * 0.99) * deviation * noise_of(&random, false);
            size_t level = t < ALTERNATIVES ? t : random_below(&random, ALTERNATIVES);
            double truth = 10 + (double)level;
            add(&course, level, truth * (1 + speed + noise * noise_of(&random, false)), false);
            assert_int_equal(spex_summary_add(&summary, &course.items[t]), 0);
            assert_int_equal(spex_final_trials_add(&ordered, &summary, &course.items[t]), 0);
        }
        spex_ranking_inputs(&summary, inputs);
        assert_int_equal(spex_ranking_of(inputs, ALTERNATIVES, false, plain, &best), 0);
        memcpy(of, plain, sizeof(of));
        assert_int_equal(spex_drift_widen(&summary, &ordered, of), 0);
        for (size_t g = 0; g < ALTERNATIVES; g++) {
            double truth = 10 + (double)g, share = 1.0 / (ALTERNATIVES * WORLDS);
            assert_true(of[g].low <= plain[g].low && of[g].high >= plain[g].high);
            told.before += share * (plain[g].low <= truth && truth <= plain[g].high);
            told.held += share * (of[g].low <= truth && truth <= of[g].high);
            if (noise > 0)
                told.wider += share * (of[g].high - of[g].low) / (plain[g].high - plain[g].low);
        }
        spex_final_trials_free(&ordered);
        spex_summary_free(&summary);
    }
    print_message("noise %.0f %%, drift %.0f %%: held %.3f, without %.3f, %.2f times as wide\n",
                  100 * noise, 100 * deviation, told.held, told.before, told.wider);
    return told;
}

/* Trials near in time have the machine's speed in common, which their differences do not tell. */
TEST(intervals_have_the_drift) {
    struct spex_space_file *file = space_of(line);
    struct told drifting = told_of(file, 0.03, 0.03), calm = told_of(file, 0.03, 0);
    struct told exact = told_of(file, 0, 0);
    assert_true(drifting.held >= 0.8 && drifting.before <= 0.4);
    assert_true(calm.held >= 0.93 && calm.wider <= 1.6);
    assert_true(exact.held > 0.999);
    spex_space_free(file);
}
