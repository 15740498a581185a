/* SPDX-License-Identifier: MIT */
/* Simulated fleets, in full: what a change of the load is followed by, and what it costs. */
#define _GNU_SOURCE
#include <math.h>

#include "fleet/decide/simulation.h"
#include "fleet/decide/why.h"
#include "policies.h"

static void tell(const char *requirements, const struct spex_simulation_options *options,
                 FILE *to) {
    struct spex_fleet_policy *policy = policy_of("p90", requirements);
    static struct spex_fleet_map map;
    struct spex_simulation result;
    map.count = 5;
    for (size_t p = 0; p < map.count; p++)
        map.cost[p] = 0.006;
    assert_int_equal(spex_simulate(policy, &map, options, &result), 0);
    for (size_t d = 0; d < result.decision_count; d++) {
        const struct spex_fleet_decision *decision = &result.decisions[d];
        fprintf(to, "%g %s +%zu -%zu on%zu off%zu of %zu+%zu, %.4g %.4g %.4g\n", decision->time,
                spex_fleet_action_name(decision->action), decision->add, decision->remove,
                decision->instrument, decision->revert, decision->instances, decision->starting,
                decision->p_t, decision->capacity, decision->response);
    }
    for (size_t a = 0; a < result.answer_count; a++) {
        const struct spex_simulation_answer *answer = &result.answers[a];
        fprintf(to, "from %g on %g: %g %g %g %s\n", answer->time, answer->share, answer->broken,
                answer->answered, answer->kept, spex_fleet_action_name(answer->action));
    }
    fprintf(to, "since %g %.4g, %zu changes, %zu s slow, %zu s dear, %zu+%zu %zu %.4g\n",
            result.converged, result.cost, result.changes, result.slow_seconds, result.dear_seconds,
            result.last.instances, result.last.starting, result.last.covered, result.last.response);
    spex_simulation_free(&result);
    assert_null(result.decisions);
    spex_fleet_policy_free(policy);
}

static void check(const char *requirements, const struct spex_simulation_options *options,
                  const char *expected) {
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    tell(requirements, options, stream);
    fclose(stream);
    assert_string_equal(text, expected);
    free(text);
}

static struct spex_simulation_options options_for(const struct spex_simulation_load *loads,
                                                  size_t count) {
    struct spex_simulation_options options;
    spex_simulation_defaults(&options);
    options.load_count = count;
    memcpy(options.loads, loads, count * sizeof(*loads));
    return options;
}

/* Without noise. */
TEST(a_load_that_comes_and_goes) {
    static const struct spex_simulation_load loads[] = {{0, 0.5}, {20, 1.3}, {60, 0.3}};
    struct spex_simulation_options options = options_for(loads, COUNT_OF(loads));
    options.noise = 0;
    options.boot = 3;
    check("<cost an_instance_hour='36' at_most='520'/>", &options,
          "3 instrument +0 -0 on2 off0 of 10+0, 269.7 539.5 0.03153\n"
          "7 instrument +0 -0 on2 off0 of 10+0, 269.7 535.9 0.03169\n"
          "11 instrument +0 -0 on1 off0 of 10+0, 269.7 532.4 0.03184\n"
          "21 revert and add +4 -0 on0 off5 of 10+0, 701.3 530.6 0.07952\n"
          "63 instrument +0 -0 on3 off0 of 14+0, 161.8 755.3 0.02604\n"
          "67 instrument +0 -0 on3 off0 of 14+0, 161.8 750 0.02615\n"
          "71 instrument +0 -0 on1 off0 of 14+0, 161.8 744.7 0.02626\n"
          "90 remove +0 -1 on0 off0 of 14+0, 161.8 742.9 0.0263\n"
          "91 remove +0 -1 on0 off0 of 13+0, 161.8 689 0.02659\n"
          "92 remove +0 -1 on0 off0 of 12+0, 161.8 636.8 0.02689\n"
          "93 remove +0 -1 on0 off0 of 11+0, 161.8 582.8 0.02731\n"
          "94 remove +0 -1 on0 off0 of 10+0, 161.8 530.6 0.02777\n"
          "95 remove +0 -1 on0 off0 of 9+0, 161.8 476.7 0.02842\n"
          "96 remove +0 -1 on0 off0 of 8+0, 161.8 424.5 0.02919\n"
          "97 remove +0 -1 on0 off0 of 7+0, 161.8 370.6 0.03035\n"
          "98 remove +0 -1 on0 off0 of 6+0, 161.8 318.4 0.03192\n"
          "99 remove +0 -1 on0 off0 of 5+0, 161.8 264.4 0.03459\n"
          "from 0 on 0.5: nan nan nan hold\n"
          "from 20 on 1.3: 20 21 24 revert and add\n"
          "from 60 on 0.3: nan nan nan hold\n"
          "since 63 13.47, 4 changes, 4 s slow, 0 s dear, 4+0 5 0.03927\n");
    options.slowdown = 4;
    options.service = 0.008;
    check("<cost an_instance_hour='36' at_most='380'/>", &options,
          "3 instrument +0 -0 on2 off0 of 10+0, 394.7 789.5 0.02692\n"
          "7 instrument +0 -0 on2 off0 of 10+0, 394.7 772.7 0.02751\n"
          "11 instrument +0 -0 on1 off0 of 10+0, 394.7 755.9 0.02809\n"
          "21 revert +0 -0 on0 off5 of 10+0, 1539 747.5 0.1339\n"
          "24 stuck +0 -0 on0 off0 of 10+0, 1539 789.5 0.1029\n"
          "63 instrument +0 -0 on2 off0 of 10+0, 236.8 789.5 0.02273\n"
          "67 instrument +0 -0 on2 off0 of 10+0, 236.8 772.7 0.02314\n"
          "71 instrument +0 -0 on1 off0 of 10+0, 236.8 755.9 0.02355\n"
          "90 remove +0 -1 on0 off0 of 10+0, 236.8 747.5 0.02375\n"
          "91 remove +0 -1 on0 off0 of 9+0, 236.8 668.6 0.02454\n"
          "92 remove +0 -1 on0 off0 of 8+0, 236.8 598 0.0253\n"
          "93 remove +0 -1 on0 off0 of 7+0, 236.8 519.1 0.02672\n"
          "94 remove +0 -1 on0 off0 of 6+0, 236.8 448.5 0.02839\n"
          "95 remove +0 -1 on0 off0 of 5+0, 236.8 369.6 0.03182\n"
          "from 0 on 0.5: nan nan nan hold\n"
          "from 20 on 1.3: 20 21 nan revert\n"
          "from 60 on 0.3: nan nan nan hold\n"
          "since 63 10.41, 3 changes, 40 s slow, 0 s dear, 4+0 5 0.03756\n");
}

/* Drawn by the seed. */
TEST(instances_that_are_exchanged_and_lost) {
    static const struct spex_simulation_load loads[] = {{3, 0.6}};
    struct spex_simulation_options options = options_for(loads, COUNT_OF(loads));
    options.instances = 20;
    options.churn = 40;
    options.failures = 20;
    options.seconds = 60;
    options.seed = 7;
    check("<instances least='15'/>", &options,
          "6 instrument +0 -0 on4 off0 of 19+0, 646.2 1021 0.03565\n"
          "10 instrument +0 -0 on4 off0 of 19+0, 647.6 1015 0.03531\n"
          "14 instrument +0 -0 on3 off0 of 19+0, 647.1 1008 0.03565\n"
          "18 instrument +0 -0 on1 off0 of 18+0, 639.3 953.1 0.03673\n"
          "22 instrument +0 -0 on1 off0 of 17+0, 647.7 899.6 0.03808\n"
          "27 add +1 -0 on0 off0 of 14+0, 658.2 744.4 0.0442\n"
          "31 instrument +0 -0 on2 off0 of 17+0, 642.8 915.8 0.03682\n"
          "35 instrument +0 -0 on1 off0 of 16+0, 645.8 853.4 0.03948\n"
          "51 add +1 -0 on0 off0 of 14+0, 649.2 744.9 0.04285\n"
          "52 add +1 -0 on0 off0 of 14+0, 663.1 745 0.04439\n"
          "56 instrument +0 -0 on1 off0 of 15+0, 660.5 799.2 0.04188\n"
          "from 3 on 0.6: nan nan nan hold\n"
          "since 6 0, 13 changes, 0 s slow, 0 s dear, 16+0 5 0.03953\n");
    options.failures = 0;
    options.churn = 0;
    options.noise = 0.3;
    check("", &options,
          "6 instrument +0 -0 on4 off0 of 20+0, 685.3 1148 0.03712\n"
          "10 instrument +0 -0 on4 off0 of 20+0, 622.3 1051 0.03566\n"
          "14 instrument +0 -0 on2 off0 of 20+0, 667.7 1078 0.03424\n"
          "from 3 on 0.6: nan nan nan hold\n"
          "since 6 0, 6 changes, 0 s slow, 0 s dear, 20+0 5 0.03666\n");
}

/* One execution alone takes longer than is asked. */
TEST(what_cannot_be_kept) {
    struct spex_simulation_options options;
    struct spex_fleet_policy *policy = policy_of("mean", "");
    static struct spex_fleet_map map;
    struct spex_simulation result;
    spex_simulation_defaults(&options);
    assert_int_equal(options.instances, 10);
    assert_true(options.seconds == 120 && options.seed == 1 && options.service == 0.01 &&
                options.slowdown == 1 && options.noise == 0.05 && options.boot == 2 &&
                options.churn == 0 && options.failures == 0);
    assert_true(options.load_count == 1 && options.loads[0].time == 0 &&
                options.loads[0].share == 0.6);
    options.service = 0.05;
    assert_int_equal(spex_simulate(policy, &map, &options, &result), -EINVAL);
    assert_true(isnan(result.converged));
    spex_simulation_free(&result);
    spex_fleet_policy_free(policy);
}
