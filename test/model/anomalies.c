/* SPDX-License-Identifier: MIT */
/* Anomalies against the truth: times that are made up, of which it is known what is usual and what
 * is not. The figures are printed. */
#include <math.h>

#include "../check.h"
#include "model/anomalies.h"
#include "model/tail.h"

enum { LONG = 200000, CASES = 100, BEFORE = 5000 };

#define EACH_SECONDS 0.02

enum noise { GAUSSIAN, LOGNORMAL, MIXTURE, BIMODAL, NOISES };

static const char *const noise_names[NOISES] = {"Gaussian", "lognormal", "heavy-tailed mixture",
                                                "two modes"};

/* What one watching has told. */
struct seen {
    uint64_t begun, ended, goes_on, shifts;
    struct spex_anomaly last;
};

struct world {
    struct spex_models models;
    struct spex_anomalies *anomalies;
    struct spex_watched *kernel;
    struct seen seen;
    uint64_t random;
    double now;
    enum noise noise;
};

static const char *const names[] = {"n"};

static double uniform(struct world *world) {
    return ((double)(random_next(&world->random) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct world *world) {
    return sqrt(-2 * log(uniform(world))) * cos(2 * M_PI * uniform(world));
}

/* Around 1, as a time is around what is predicted. */
static double noise_of(struct world *world) {
    switch (world->noise) {
    case GAUSSIAN:
        return fmax(1 + 0.05 * normal(world), 0.1);
    case LOGNORMAL:
        return exp(0.2 * normal(world));
    case MIXTURE: /* a hundredth of the executions is interrupted, by Pareto's 1.5 */
        return exp(0.05 * normal(world)) *
               (uniform(world) < 0.01 ? 1.2 * pow(uniform(world), -1 / 1.5) : 1);
    default: /* caches that are warm or cold */
        return exp(0.05 * normal(world)) * (uniform(world) < 0.4 ? 1.7 : 1);
    }
}

static double share_of(enum noise noise) {
    return noise == LOGNORMAL ? 0.2 : noise == BIMODAL ? 0.3 : 0.05;
}

static void told(void *user, enum spex_anomaly_event event, const struct spex_anomaly *anomaly) {
    struct seen *seen = user;
    seen->begun += event == SPEX_ANOMALY_BEGINS;
    seen->ended += event == SPEX_ANOMALY_ENDS;
    seen->goes_on += event == SPEX_ANOMALY_GOES_ON;
    seen->shifts += event != SPEX_ANOMALY_BEGINS && anomaly->shift;
    seen->last = *anomaly;
}

/* A model of 1 µs for each n. */
static void world_open(struct world *world, enum noise noise, double rate, uint64_t seed) {
    struct spex_kernel_model *model;
    *world = (struct world){.noise = noise, .random = seed};
    assert_int_equal(spex_models_add(&world->models, "main/work", names, 1, &model), 0);
    model->low[0] = 10;
    model->high[0] = 1000;
    model->model.class = SPEX_MODEL_LINEAR;
    model->model.term_count = 1;
    model->model.terms[0].coefficient = 1e-6;
    model->model.terms[0].factors[0].twelfths = 12;
    model->model.share = share_of(noise);
    model->model.freedom = 500;
    assert_int_equal(
        spex_anomalies_create(&world->anomalies, &world->models, rate, told, &world->seen), 0);
    assert_int_equal(spex_anomalies_kernel(world->anomalies, "main/work", names, 1, &world->kernel),
                     0);
}

static void world_close(struct world *world) {
    spex_anomalies_destroy(world->anomalies);
    spex_models_free(&world->models);
}

/* `slower`: by what else than noise. */
static void execute(struct world *world, double slower) {
    double n = 10 + floor(uniform(world) * 990);
    struct spex_execution execution = {.parameters = &n,
                                       .seconds = n * 1e-6 * noise_of(world) * slower,
                                       .weight = 1,
                                       .end = world->now += EACH_SECONDS,
                                       .thread = 7};
    spex_anomalies_take(world->anomalies, world->kernel, &execution);
}

static void execute_usual(struct world *world, unsigned executions) {
    for (unsigned e = 0; e < executions; e++)
        execute(world, 1);
}

/* In all of it nothing happens. */
static void false_alarms(enum noise noise, double rate, double drift) {
    struct world world;
    world_open(&world, noise, rate, 1 + noise);
    for (unsigned e = 0; e < LONG; e++)
        execute(&world, 1 + drift * e / 100000);
    spex_anomalies_end(world.anomalies);
    const struct spex_anomalies_account *account = spex_anomalies_account(world.anomalies);
    printf("%s, rate %g, drift %g: %llu false alarms of %.0f allowed, %llu of them shifts\n",
           noise_names[noise], rate, drift, (unsigned long long)account->anomalous, rate * LONG,
           (unsigned long long)world.seen.shifts);
    assert_int_equal(account->judged, LONG);
    assert_int_equal(world.seen.shifts, 0);
    /* Beyond what chance may add to a rate that is kept, and a few before much has been learnt. */
    assert_true((double)account->anomalous <= rate * LONG + 3 * sqrt(rate * LONG) + 5);
    world_close(&world);
}

TEST(false_alarms_are_as_rare_as_asked_for) {
    for (int noise = 0; noise < NOISES; noise++) {
        false_alarms((enum noise)noise, 1e-3, 0);
        false_alarms((enum noise)noise, 1e-4, 0);
        false_alarms((enum noise)noise, 1e-5, 0);
    }
}

TEST(slow_drift_is_no_anomaly) {
    for (int noise = 0; noise < NOISES; noise++) {
        false_alarms((enum noise)noise, 1e-4, 0.3);
        false_alarms((enum noise)noise, 1e-4, -0.2);
    }
}

/* Of CASES single executions that take so much longer; how many were told. */
static unsigned singles_found(enum noise noise, double slower) {
    unsigned found = 0;
    for (uint64_t c = 0; c < CASES; c++) {
        struct world world;
        world_open(&world, noise, 1e-5, 1000 + c);
        execute_usual(&world, BEFORE);
        uint64_t before = spex_anomalies_account(world.anomalies)->anomalous;
        execute(&world, slower);
        found += spex_anomalies_account(world.anomalies)->anomalous > before;
        world_close(&world);
    }
    printf("%s: of single executions %g times as long %u of %d found\n", noise_names[noise], slower,
           found, CASES);
    return found;
}

TEST(single_delays_are_found) {
    assert_true(singles_found(GAUSSIAN, 2) >= 99);
    assert_true(singles_found(GAUSSIAN, 5) == CASES);
    assert_true(singles_found(LOGNORMAL, 5) >= 95);
    assert_true(singles_found(BIMODAL, 5) >= 95);
}

/* From the beginning of a shift to its alarm, in executions; of CASES the slowest. 0: one was not
 * found. */
static unsigned shift_delay(enum noise noise, double slower) {
    unsigned worst = 0, sum = 0;
    for (uint64_t c = 0; c < CASES; c++) {
        struct world world;
        unsigned executions = 0;
        world_open(&world, noise, 1e-5, 2000 + c);
        execute_usual(&world, BEFORE);
        const struct spex_anomalies_account *account = spex_anomalies_account(world.anomalies);
        uint64_t before = account->anomalous;
        for (; account->anomalous == before && executions < 5000; executions++)
            execute(&world, slower);
        sum += executions;
        worst = executions > worst ? executions : worst;
        world_close(&world);
        if (executions == 5000)
            return 0;
    }
    printf(
        "%s: %g times as long from some execution on is found after %.1f executions, %u at most\n",
        noise_names[noise], slower, (double)sum / CASES, worst);
    return worst;
}

TEST(lasting_delays_are_found_soon) {
    for (int noise = 0; noise < NOISES; noise++) {
        unsigned half = shift_delay((enum noise)noise, 1.5),
                 two = shift_delay((enum noise)noise, 2);
        unsigned five = shift_delay((enum noise)noise, 5);
        assert_in_range(half, 1, 250);
        assert_in_range(two, 1, 100);
        assert_in_range(five, 1, 60);
    }
}

TEST(an_anomaly_has_a_beginning_and_an_end) {
    struct world world;
    world_open(&world, GAUSSIAN, 1e-5, 5);
    execute_usual(&world, BEFORE);
    double begin = world.now;
    for (int e = 0; e < 1000; e++)
        execute(&world, 3);
    assert_int_equal(world.seen.begun, 1);
    assert_int_equal(world.seen.ended, 0);
    double end = world.now;
    execute_usual(&world, 2000);
    assert_int_equal(world.seen.begun, 1);
    assert_int_equal(world.seen.ended, 1);
    assert_true(world.seen.last.shift);
    assert_true(fabs(world.seen.last.begin - begin) < 3 * EACH_SECONDS);
    assert_true(fabs(world.seen.last.end - end) < 3 * EACH_SECONDS);
    assert_true(world.seen.last.executions >= 990 && world.seen.last.executions <= 1010);
    assert_true(fabs(world.seen.last.median - 3) < 0.1);
    assert_true(world.seen.last.worst > 3.2 && world.seen.last.worst < 4);
    assert_string_equal(world.seen.last.kernel->path, "main/work");
    assert_int_equal(world.seen.last.thread, 7);
    assert_true(world.seen.last.weight == (double)world.seen.last.executions);
    assert_true(world.seen.last.predicted.value == 1e-6 * world.seen.last.parameters[0]);
    assert_true(world.seen.last.seconds > 2.5 * world.seen.last.predicted.value);
    world_close(&world);
}

/* However long it lasts, it does not become usual. */
TEST(what_lasts_is_not_learnt) {
    struct world world;
    world_open(&world, LOGNORMAL, 1e-5, 6);
    execute_usual(&world, BEFORE);
    for (int e = 0; e < LONG; e++)
        execute(&world, 2.5);
    assert_int_equal(world.seen.begun, 1);
    spex_anomalies_end(world.anomalies);
    assert_int_equal(world.seen.goes_on, 1);
    assert_true(world.seen.last.executions > LONG * 0.95);
    world_close(&world);
}

/* Too slow from the first execution on: the model says so. */
TEST(what_was_there_before_is_found) {
    struct world world;
    world_open(&world, GAUSSIAN, 1e-5, 7);
    for (int e = 0; e < 1000; e++)
        execute(&world, 4);
    assert_int_equal(world.seen.begun, 1);
    assert_true(world.seen.last.median > 3.5 || world.seen.last.seconds > 0);
    world_close(&world);
}

/* One that rarely runs is not over between two executions. */
TEST(a_slow_rhythm_is_one_anomaly) {
    struct world world;
    world_open(&world, GAUSSIAN, 1e-5, 8);
    for (int e = 0; e < 200; e++) {
        world.now += 10;
        execute(&world, e < 100 ? 1 : 2);
        spex_anomalies_pass(world.anomalies, world.now);
    }
    assert_int_equal(world.seen.begun, 1);
    /* Over after 4 mean intervals, of 10.02 s each. */
    spex_anomalies_pass(world.anomalies, world.now + 40);
    assert_int_equal(world.seen.ended, 0);
    spex_anomalies_pass(world.anomalies, world.now + 40.2);
    assert_int_equal(world.seen.ended, 1);
    world_close(&world);
}

/* Of one that runs often, after 5 seconds. */
TEST(silence_ends_an_anomaly) {
    struct world world;
    world_open(&world, GAUSSIAN, 1e-5, 10);
    execute_usual(&world, BEFORE);
    for (int e = 0; e < 1000; e++)
        execute(&world, 3);
    spex_anomalies_pass(world.anomalies, world.now + 4.9);
    assert_int_equal(world.seen.ended, 0);
    spex_anomalies_pass(world.anomalies, world.now + 5.1);
    assert_int_equal(world.seen.ended, 1);
    world_close(&world);
}

TEST(what_is_not_judged_is_counted) {
    struct world world;
    struct spex_watched *kernel;
    const char *const others[] = {"m"};
    double n = 100;
    struct spex_execution execution = {.parameters = &n, .seconds = 1e-4, .weight = 1, .end = 1};
    world_open(&world, GAUSSIAN, 1e-5, 9);
    const struct spex_anomalies_account *account = spex_anomalies_account(world.anomalies);
    assert_int_equal(spex_anomalies_kernel(world.anomalies, "main/other", names, 1, &kernel), 0);
    spex_anomalies_take(world.anomalies, kernel, &execution);
    assert_int_equal(account->unjudged[SPEX_NO_MODEL], 1);
    assert_int_equal(spex_anomalies_kernel(world.anomalies, "main/work", others, 1, &kernel), 0);
    spex_anomalies_take(world.anomalies, kernel, &execution);
    assert_int_equal(account->unjudged[SPEX_OTHER_PARAMETERS], 1);
    n = 1001;
    spex_anomalies_take(world.anomalies, world.kernel, &execution);
    n = 9;
    spex_anomalies_take(world.anomalies, world.kernel, &execution);
    assert_int_equal(account->unjudged[SPEX_OUT_OF_RANGE], 2);
    assert_int_equal(account->judged, 0);
    world_close(&world);
}

/* A kernel whose parameters do not tell its time, which is of two kinds, as of gets and sets: an
 * execution that takes much longer than any is told, however far from the training, and what it
 * took is compared with what is usual. That there are more of one kind is nothing. */
TEST(without_a_class_the_usual_is_learnt) {
    for (unsigned n = 0; n < NOISES; n++) {
        struct world world;
        world_open(&world, (enum noise)n, 1e-5, 20 + n);
        spex_anomalies_destroy(world.anomalies);
        world.models.items[0].model.class = SPEX_MODEL_UNKNOWN;
        world.models.items[0].high[0] = 11;
        assert_int_equal(
            spex_anomalies_create(&world.anomalies, &world.models, 1e-5, told, &world.seen), 0);
        assert_int_equal(
            spex_anomalies_kernel(world.anomalies, "main/work", names, 1, &world.kernel), 0);
        for (int e = 0; e < BEFORE; e++)
            execute(&world, 1e-3 * (uniform(&world) < 0.2 ? 3 : 1));
        uint64_t before = world.seen.begun;
        assert_in_range(before, 0, 2);
        execute(&world, 1e3);
        assert_int_equal(world.seen.begun, before + 1);
        assert_false(world.seen.last.shift);
        double usual = world.seen.last.predicted.value;
        assert_true(usual > 1e-7 && usual < 2e-6);
        assert_true(world.seen.last.worst > 1e3);
        assert_true(world.seen.last.worst >= world.seen.last.median);
        for (int e = 0; e < BEFORE; e++)
            execute(&world, 1e-3 * (uniform(&world) < 0.6 ? 3 : 1));
        assert_int_equal(world.seen.shifts, 0);
        assert_in_range(world.seen.begun, before + 1, before + 3);
        world_close(&world);
    }
}

/* Of one execution both are its ratio, to the last digit. */
TEST(the_worst_is_no_less_than_the_median) {
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct world world;
        world_open(&world, GAUSSIAN, 1e-5, seed);
        execute_usual(&world, BEFORE / 4);
        execute(&world, 8e4 + (double)seed);
        for (int e = 0; e < 200; e++)
            execute(&world, 1);
        assert_true(world.seen.last.executions > 0);
        assert_true(world.seen.last.worst >= world.seen.last.median);
        world_close(&world);
    }
}

/* Of numbers with Pareto's tail of 2, the level that one in 100,000 exceeds is 316; that of an
 * exponential tail would be a fraction. */
TEST(heavy_tails_have_high_levels) {
    const double probability = 1e-5;
    struct world world = {.random = 1};
    struct spex_tail tail;
    spex_tail_init(&tail, probability);
    for (unsigned i = 0; i < 20000; i++)
        spex_tail_add(&tail, pow(uniform(&world), -0.5));
    double level = spex_tail_level(&tail, probability);
    assert_true(level > 200 && level < 1000);
}

/* Of 100 numbers, fewer than the doubt allows are above the level; where fewer numbers are fitted
 * than are to exceed it, it is not beyond the least of them. */
TEST(levels_that_many_exceed_are_observed) {
    static const struct {
        double probability, least, most;
    } levels[] = {{0.9, 10, 20}, {0.3, 70, 76}, {0.25, 75, 77}};
    for (size_t l = 0; l < COUNT_OF(levels); l++) {
        struct spex_tail tail;
        spex_tail_init(&tail, levels[l].probability);
        for (unsigned i = 1; i <= 100; i++)
            spex_tail_add(&tail, i);
        double level = spex_tail_level(&tail, levels[l].probability);
        assert_true(level >= levels[l].least && level <= levels[l].most);
    }
}

/* Delays as by a scheduler are five times as frequent as alarms; the others are a third as frequent,
 * and are found again and again. */
TEST(what_recurs_seldom_is_found_each_time) {
    const double rate = 1e-3;
    const unsigned every = 3000;
    struct world world;
    unsigned found = 0;
    world_open(&world, GAUSSIAN, rate, 1);
    for (unsigned e = 1; e <= CASES * every; e++) {
        bool slow = e % every == 0;
        uint64_t before = spex_anomalies_account(world.anomalies)->anomalous;
        execute(&world, slow ? 5000 : uniform(&world) < 5 * rate ? 100 * (1 + uniform(&world)) : 1);
        found += slow && spex_anomalies_account(world.anomalies)->anomalous > before;
    }
    const struct spex_anomalies_account *account = spex_anomalies_account(world.anomalies);
    printf("of delays in one of %u executions %u of %d found, and %llu others\n", every, found,
           CASES, (unsigned long long)account->anomalous - found);
    assert_true(found >= 95);
    world_close(&world);
}

/* Where a change may be above or below, the times of both segments are usual; those of neither are
 * not. */
TEST(either_segment_is_usual) {
    for (int slower = 0; slower < 2; slower++) {
        struct world world;
        world_open(&world, GAUSSIAN, 1e-4, 3);
        struct spex_model *model = &world.models.items[0].model;
        model->terms[1] = model->terms[0];
        model->terms[1].coefficient *= 3;
        model->terms[1].segment = 1;
        model->term_count = 2;
        model->change_count = 1;
        model->changes[0] = (struct spex_model_change){500, 10, 1000};
        for (unsigned e = 0; e < LONG / 10; e++)
            execute(&world, uniform(&world) < 0.3 ? 3 : 1);
        uint64_t before = spex_anomalies_account(world.anomalies)->anomalous;
        assert_true(before < 15);
        execute(&world, slower ? 9 : 3);
        assert_int_equal(spex_anomalies_account(world.anomalies)->anomalous - before, slower);
        world_close(&world);
    }
}
