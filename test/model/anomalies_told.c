/* SPDX-License-Identifier: MIT */
/* All that a watching tells of made executions, in full: each event with every figure of its
 * anomaly, and what the detector and its tail have learnt at the end of each part. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "../unit/told_text.h"
#include "model/anomaly/anomalies.h"
#include "model/anomaly/detector.h"
#include "model/anomaly/tail.h"

/* So many executions, so many times slower than usual, every so many seconds; of which one in
 * `every` (0: none) is so many times slower still. Afterwards so many seconds pass. */
struct part {
    unsigned executions;
    double slower, seconds;
    unsigned every;
    double delay, pass;
};

struct watching {
    const char *name;
    double rate;
    struct part parts[8];
    const char *expected;
};

static struct {
    uint64_t random;
    double now;
} world;

static double part_of_one(void) {
    return (double)(random_next(&world.random) >> 11) / 9007199254740992.0;
}

static void tell_event(void *user, enum spex_anomaly_event event, const struct spex_anomaly *a) {
    (void)user;
    tell("%s %u%s %.7g to %.7g: %u of %g, %.6g worst, %.6g median; %u n=%g m=%g %.6g of %.6g to "
         "%.6g\n",
         event == SPEX_ANOMALY_BEGINS ? "begins"
         : event == SPEX_ANOMALY_ENDS ? "ends"
                                      : "goes on",
         (unsigned)a->number, a->shift ? " shift" : "", a->begin, a->end, (unsigned)a->executions,
         a->weight, a->worst, a->median, a->thread, a->parameters[0], a->parameters[1], a->seconds,
         a->predicted.value, a->predicted.high);
}

/* 1 µs for each n, and 50 µs. */
static void model_make(struct spex_models *models) {
    static const char *const names[] = {"n", "m"};
    struct spex_kernel_model *model;
    assert_int_equal(spex_models_add(models, "main/work", names, 2, &model), 0);
    model->low[0] = model->low[1] = 10;
    model->high[0] = model->high[1] = 1000;
    model->model.class = SPEX_MODEL_LINEAR;
    model->model.constant = 50e-6;
    model->model.term_count = 1;
    model->model.terms[0].coefficient = 1e-6;
    model->model.terms[0].factors[0].twelfths = 12;
    model->model.share = 0.05;
    model->model.freedom = 500;
}

/* Usual is up to 5 % to either side, and now and then half more. */
static void execute(struct spex_anomalies *anomalies, struct spex_watched *kernel,
                    const struct part *part, unsigned number) {
    const double parameters[] = {10 + floor(part_of_one() * 990), 10 + number % 100};
    double ratio = 0.95 + 0.1 * part_of_one();
    ratio += part_of_one() < 0.02 ? 0.5 * part_of_one() : 0;
    ratio *= part->slower;
    if (part->every && number % part->every == part->every - 1)
        ratio *= part->delay * (0.8 + 0.4 * part_of_one());
    const struct spex_execution execution = {.parameters = parameters,
                                             .seconds = (50 + parameters[0]) * 1e-6 * ratio,
                                             .weight = 1 + number % 3,
                                             .end = world.now += part->seconds,
                                             .thread = 5 + number % 7};
    spex_anomalies_take(anomalies, kernel, &execution);
}

static void watch(const struct watching *watching) {
    static const char *const names[] = {"n", "m"};
    struct spex_models models = {.count = 0};
    struct spex_anomalies *anomalies;
    struct spex_watched *kernel;
    told_clear();
    world.random = 11;
    world.now = 1;
    model_make(&models);
    assert_int_equal(spex_anomalies_create(&anomalies, &models, watching->rate, tell_event, NULL),
                     0);
    assert_int_equal(spex_anomalies_kernel(anomalies, "main/work", names, 2, &kernel), 0);
    const struct spex_anomalies_account *account = spex_anomalies_account(anomalies);
    for (size_t p = 0; p < COUNT_OF(watching->parts) && watching->parts[p].executions; p++) {
        for (unsigned e = 0; e < watching->parts[p].executions; e++)
            execute(anomalies, kernel, &watching->parts[p], e);
        world.now += watching->parts[p].pass;
        spex_anomalies_pass(anomalies, world.now);
        tell("%zu: %u judged of %g, %u anomalous\n", p, (unsigned)account->judged, account->weight,
             (unsigned)account->anomalous);
    }
    spex_anomalies_end(anomalies);
    tell("%u kernels, %u anomalies\n", (unsigned)account->kernels, (unsigned)account->anomalies);
    spex_anomalies_destroy(anomalies);
    spex_models_free(&models);
}

/* What a detector has learnt, of ratios alone. */
static void learn(double rate, double slower) {
    struct spex_detector detector;
    unsigned verdicts[3] = {0};
    told_clear();
    world.random = 5;
    spex_detector_init(&detector, rate, false);
    for (unsigned e = 1; e <= 60000; e++) {
        double ratio = log(0.8 + 0.4 * part_of_one());
        ratio += part_of_one() < 0.01 ? -log(1 - part_of_one()) : 0;
        ratio += e > 20000 && e <= 20300 ? log(slower) : 0;
        bool outlier = spex_detector_unlikely(&detector, ratio);
        verdicts[spex_detector_take(&detector, ratio, e * 0.01, e % 11 || ratio > 0.5, outlier)]++;
        if (e == 63 || e == 64 || e == 200 || e == 20100 || e % 20000 == 0)
            tell("%u: %.6g %.6g %.6g evidence %.6g since %g%s tail %.6g; %u %u %u\n", e,
                 detector.centre, detector.upper, detector.deviation, detector.evidence,
                 detector.evidence_since, detector.shifted ? " shifted" : "",
                 spex_tail_level(&detector.tail, rate), verdicts[0], verdicts[1], verdicts[2]);
    }
}

static const struct watching watchings[] = {
    {"single delays",
     1e-4,
     {{3000, 1, 0.02, 0, 0, 0}, {600, 1, 0.02, 200, 6, 0}, {100, 1, 0.02, 0, 0, 6}},
     "0: 3000 judged of 6000, 0 anomalous\n"
     "begins 1 64.99572 to 65: 1 of 2, 5.83282 worst, 5.83282 median; 8 n=684 m=109 "
     "0.00428129 of 0.000734 to 0.000806105\n"
     "ends 1 64.99572 to 65: 1 of 2, 5.83282 worst, 5.83282 median; 8 n=684 m=109 "
     "0.00428129 of 0.000734 to 0.000806105\n"
     "begins 2 68.99421 to 69: 1 of 1, 7.00378 worst, 7.00378 median; 5 n=777 m=109 "
     "0.00579213 of 0.000827 to 0.000908241\n"
     "ends 2 68.99421 to 69: 1 of 1, 7.00378 worst, 7.00378 median; 5 n=777 m=109 "
     "0.00579213 of 0.000827 to 0.000908241\n"
     "1: 3600 judged of 7200, 2 anomalous\n"
     "2: 3700 judged of 7399, 2 anomalous\n"
     "1 kernels, 2 anomalies\n"},
    {"a shift",
     1e-4,
     {{3000, 1, 0.02, 0, 0, 0},
      {200, 2, 0.02, 0, 0, 0},
      {400, 1, 0.02, 0, 0, 0},
      {30, 3, 0.02, 0, 0, 4.9},
      {3, 3, 0.02, 0, 0, 5.2}},
     "0: 3000 judged of 6000, 0 anomalous\n"
     "begins 1 shift 61 to 61.24: 1 of 3, 1.94292 worst, 1.94292 median; 9 n=338 m=21 "
     "0.000753852 of 0.000388 to 0.000426116\n"
     "1: 3200 judged of 6399, 189 anomalous\n"
     "ends 1 shift 61 to 65: 189 of 378, 2.46553 worst, 2.00042 median; 9 n=338 m=21 "
     "0.000753852 of 0.000388 to 0.000426116\n"
     "2: 3600 judged of 7198, 189 anomalous\n"
     "begins 2 shift 73 to 73.24: 1 of 3, 2.98835 worst, 2.98835 median; 9 n=85 m=21 "
     "0.000403427 of 0.000135 to 0.000148262\n"
     "3: 3630 judged of 7258, 208 anomalous\n"
     "ends 2 shift 73 to 78.56: 22 of 45, 4.07707 worst, 2.96835 median; 9 n=85 m=21 "
     "0.000403427 of 0.000135 to 0.000148262\n"
     "4: 3633 judged of 7264, 211 anomalous\n"
     "1 kernels, 2 anomalies\n"},
    {"delays within a shift, that goes on",
     1e-3,
     {{1500, 1, 0.005, 50, 2.5, 0}, {300, 1.6, 0.005, 9, 2, 0}},
     "0: 1500 judged of 3000, 0 anomalous\n"
     "begins 1 shift 8.495 to 8.695: 1 of 3, 1.57332 worst, 1.57332 median; 8 n=492 m=48 "
     "0.000852742 of 0.000542 to 0.000595244\n"
     "1: 1800 judged of 3600, 262 anomalous\n"
     "goes on 1 shift 8.495 to 10: 262 of 525, 3.7745 worst, 1.61862 median; 8 n=492 m=48 "
     "0.000852742 of 0.000542 to 0.000595244\n"
     "1 kernels, 1 anomalies\n"},
    {"from the begin",
     1e-5,
     {{40, 1, 0.1, 0, 0, 0},
      {40, 12, 0.1, 0, 0, 0},
      {200, 1.4, 0.1, 10, 20, 60},
      {25, 1, 0.1, 5, 30, 0}},
     "0: 40 judged of 79, 0 anomalous\n"
     "begins 1 shift 5 to 6.5: 1 of 3, 11.4412 worst, 11.4412 median; 5 n=289 m=24 "
     "0.00387857 of 0.000339 to 0.000372302\n"
     "1: 80 judged of 158, 26 anomalous\n"
     "ends 1 shift 5 to 29: 226 of 451, 42.9341 worst, 1.41765 median; 5 n=289 m=24 "
     "0.00387857 of 0.000339 to 0.000372302\n"
     "2: 280 judged of 557, 226 anomalous\n"
     "begins 2 shift 5 to 89.5: 1 of 2, 26.0723 worst, 26.0723 median; 9 n=575 m=14 "
     "0.0162952 of 0.000625 to 0.000686397\n"
     "3: 305 judged of 606, 231 anomalous\n"
     "goes on 2 shift 5 to 91.5: 5 of 9, 30.0157 worst, 26.2407 median; 9 n=575 m=14 "
     "0.0162952 of 0.000625 to 0.000686397\n"
     "1 kernels, 2 anomalies\n"},
    {"frequent delays",
     1e-3,
     {{1200, 1, 0.01, 0, 0, 0}, {900, 1, 0.01, 4, 3, 0}, {100, 1, 0.01, 0, 0, 1}},
     "0: 1200 judged of 2400, 0 anomalous\n"
     "begins 1 13.03955 to 13.04: 1 of 1, 2.45449 worst, 2.45449 median; 8 n=132 m=13 "
     "0.000446718 of 0.000182 to 0.000199879\n"
     "1: 2100 judged of 4200, 225 anomalous\n"
     "ends 1 13.03955 to 22: 225 of 450, 4.01282 worst, 2.93203 median; 8 n=132 m=13 "
     "0.000446718 of 0.000182 to 0.000199879\n"
     "2: 2200 judged of 4399, 225 anomalous\n"
     "1 kernels, 1 anomalies\n"},
};

static const struct {
    double rate, slower;
    const char *expected;
} learnt[] = {
    {1e-4, 1.5,
     "63: 0.0299332 0.112866 0.0886682 evidence 0 since 0.63 tail 0.955267; 63 0 0\n"
     "64: 0.0301105 0.112312 0.0884908 evidence 0 since 0.64 tail 0.770517; 64 0 0\n"
     "200: 0.0263009 0.129636 0.0937497 evidence 0 since 2 tail 0.455243; 199 1 0\n"
     "20000: 0.0108664 0.143628 0.100996 evidence 0 since 200 tail 3.01893; 19972 28 0\n"
     "20100: 0.0118664 0.152754 0.10201 evidence 23.4207 since 200 shifted tail 3.01893; "
     "19999 28 73\n"
     "40000: 0.0121361 0.144103 0.0988636 evidence 0 since 400 tail 2.81088; 39705 38 "
     "257\n"
     "60000: 0.00550884 0.14861 0.0994611 evidence 0 since 600 tail 2.53445; 59692 51 "
     "257\n"},
    {1e-3, 3,
     "63: 0.0299332 0.112866 0.0886682 evidence 0 since 0.63 tail 0.570026; 63 0 0\n"
     "64: 0.0301105 0.112312 0.0884908 evidence 0 since 0.64 tail 0.466454; 64 0 0\n"
     "200: 0.0261205 0.127504 0.0935626 evidence 0 since 2 tail 0.260848; 198 2 0\n"
     "20000: 0.00201525 0.149776 0.102765 evidence 0 since 200 tail 0.178063; 19292 708 "
     "0\n"
     "20100: 0.00201525 0.149776 0.102765 evidence 18.8155 since 200 shifted tail "
     "0.178063; 19292 727 81\n"
     "40000: 0.00878622 0.143245 0.0993307 evidence 0 since 400 tail 0.177839; 38306 1413 "
     "281\n"
     "60000: 0.00147458 0.148046 0.0978906 evidence 0 since 600 tail 0.177502; 57608 2111 "
     "281\n"},
};

static void what_is_told_is_as_expected(void **unused) {
    (void)unused;
    for (size_t w = 0; w < COUNT_OF(watchings); w++) {
        print_message("%s\n", watchings[w].name);
        watch(&watchings[w]);
        told_is(watchings[w].expected);
    }
}

static void what_is_learnt_is_as_expected(void **unused) {
    (void)unused;
    for (size_t l = 0; l < COUNT_OF(learnt); l++) {
        learn(learnt[l].rate, learnt[l].slower);
        told_is(learnt[l].expected);
    }
}

int main(int argc, char **argv) {
    (void)argv;
    for (size_t w = 0; argc > 1 && w < COUNT_OF(watchings) + COUNT_OF(learnt); w++) {
        if (w < COUNT_OF(watchings))
            watch(&watchings[w]);
        else
            learn(learnt[w - COUNT_OF(watchings)].rate, learnt[w - COUNT_OF(watchings)].slower);
        puts(told.text);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_is_as_expected),
        cmocka_unit_test(what_is_learnt_is_as_expected),
    };
    return argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
