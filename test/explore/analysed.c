/* SPDX-License-Identifier: MIT */
/* Rankings and shares of variance of made trials, figure by figure. Tests of how often intervals
 * hold and how near shares come leave much room for a figure that is somewhat wrong. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../check.h"
#include "../unit/told_text.h"
#include "explore/findings/ranking.h"
#include "explore/findings/sensitivity.h"

enum { MOST = 40, PARAMETERS = 4, LEVELS = 6 };

/* -0.5 to 0.5. */
static double chance(uint64_t *random) {
    return (double)(random_next(random) >> 11) / 9007199254740992.0 - 0.5;
}

struct ranked {
    size_t count;
    /* Configuration i is worth `first` + i `step`; a trial varies by `noise`. */
    double first, step, noise;
    /* What runs say of their error; 0: nothing. Every so manyth has no trials; 0: all have. */
    double error;
    size_t none;
    bool maximise;
};

static const struct ranked rankings[] = {
    {1, 100, 0, 3, 0, 0, false},         {2, 100, 5, 3, 1, 0, true},
    {6, 100, 2, 6, 0, 4, false},         {8, -3, 0.5, 2, 0, 0, true},
    {12, 40, 0, 8, 30, 0, false},        {30, 1000, 3, 40, 90, 7, true},
    {40, 1e-6, 1e-9, 2e-8, 0, 0, false}, {7, 50, 4, 0, 0.5, 0, false},
};

/* One to five trials of each. */
static void rank(const struct ranked *ranked, uint64_t seed) {
    struct spex_ranking_input inputs[MOST];
    struct spex_ranking standings[MOST];
    uint64_t random = seed;
    size_t best;
    for (size_t i = 0; i < ranked->count; i++) {
        struct spex_ranking_input *input = &inputs[i];
        *input = (struct spex_ranking_input){.error = NAN};
        size_t trials = ranked->none && i % ranked->none == 2 ? 0 : 1 + random_below(&random, 5);
        while (input->trials < trials) {
            double value =
                ranked->first + (double)i * ranked->step + ranked->noise * chance(&random);
            double distance = value - input->mean;
            input->mean += distance / (double)++input->trials;
            input->squares += distance * (value - input->mean);
        }
        if (ranked->error > 0 && i % 5)
            input->error = ranked->error;
    }
    assert_int_equal(spex_ranking_of(inputs, ranked->count, ranked->maximise, standings, &best), 0);
    for (size_t i = 0; i < ranked->count; i++)
        tell("%.5g +-%.4g %.5g..%.5g %.4g%s%s\n", standings[i].estimate, standings[i].margin,
             standings[i].low, standings[i].high, standings[i].first,
             standings[i].tied ? " tied" : "", i == best ? " best" : "");
}

static struct spex_value values[LEVELS];
static struct spex_parameter parameters[PARAMETERS];
static const struct spex_space space = {.size = sizeof(space),
                                        .parameter_count = PARAMETERS,
                                        .parameters = parameters,
                                        .threads_parameter = PARAMETERS};

static void tell_share(const char *what, const struct spex_sensitivity_share *share) {
    tell(" %s %.5f %.5f..%.5f", what, share->value, share->low, share->high);
}

/* The last is a category, and the third has one level in every other analysis. */
static void analyse(size_t count, double noise, double above, uint64_t seed) {
    struct spex_sensitivity_input inputs[MOST];
    struct spex_sensitivity found[PARAMETERS];
    size_t levels[MOST][PARAMETERS];
    uint64_t random = seed;
    for (size_t l = 0; l < LEVELS; l++)
        values[l] = (struct spex_value){.position = (double)l / (LEVELS - 1)};
    for (size_t p = 0; p < PARAMETERS; p++)
        parameters[p] = (struct spex_parameter){.name = "",
                                                .unit = "",
                                                .kind = p == 3 ? SPEX_CATEGORICAL : SPEX_INTEGER,
                                                .count = p == 3               ? 3
                                                         : p == 2 && seed % 2 ? 1
                                                                              : LEVELS,
                                                .values = values};
    for (size_t i = 0; i < count; i++) {
        for (size_t p = 0; p < PARAMETERS; p++)
            levels[i][p] = random_below(&random, parameters[p].count);
        double a = values[levels[i][0]].position, b = values[levels[i][1]].position,
               c = values[levels[i][2]].position, kind = (double)(levels[i][3] * levels[i][3]);
        inputs[i] = (struct spex_sensitivity_input){levels[i], 1 + i % 3,
                                                    above + 2 * a + a * b + c * c + 0.3 * kind +
                                                        noise * chance(&random),
                                                    (double)(i % 3) * noise * noise / 12};
    }
    int err = spex_sensitivity_of(&space, inputs, count, found);
    tell("%zu %g %g: %d\n", count, noise, above, err);
    for (size_t p = 0; p < PARAMETERS && !err; p++) {
        tell_share("main", &found[p].main);
        tell_share("total", &found[p].total);
        tell("\n");
    }
    for (size_t p = 0; p + 1 < PARAMETERS && !err; p++) {
        struct spex_sensitivity_share share;
        assert_int_equal(spex_sensitivity_pair(&space, inputs, count, p, p + 1, &share), 0);
        tell_share("pair", &share);
        tell("\n");
    }
}

static void analyse_all(void) {
    analyse(7, 0.1, 1, 1);
    analyse(8, 0.1, 1, 2);
    analyse(20, 0.5, -2, 3);
    analyse(40, 0.05, 5, 4);
    analyse(40, 2, 0, 5);
}

static const char *const expected_rankings[] = {
    "99.83 +-1.142 98.664..101.01 1 tied best\n",

    "99.161 +-0.7646 98.506..100.11 0\n"
    "103.65 +-1.002 102.76..104.81 1 tied best\n",

    "102.8 +-4.053 98.008..107.98 0.465 tied\n"
    "102.24 +-2.118 99.545..104.76 0.5075 tied best\n"
    "nan +-nan nan..nan 0\n"
    "105.68 +-3.019 101.47..108.96 0.0135 tied\n"
    "108.26 +-2.052 105.73..109.94 0.0005\n"
    "107.26 +-4.013 101.36..111.15 0.0135 tied\n",

    "-3.0606 +-1.368 -4.0094..-1.1598 0.0005\n"
    "-2.6952 +-0.5241 -3.1311..-2.056 0\n"
    "-1.9443 +-1.067 -2.8238..-0.61459 0\n"
    "-0.85363 +-0.5183 -1.3183..-0.24471 0\n"
    "-1.0357 +-0.5612 -1.5348..-0.37291 0\n"
    "-0.64745 +-1.169 -2.0548..0.86282 0.027 tied\n"
    "0.17751 +-0.9486 -0.99427..1.3469 0.322 tied\n"
    "0.48083 +-0.431 0.0065257..1.0426 0.6505 tied best\n",

    "39.488 +-1.299 37.502..41.432 0.0705 tied\n"
    "39.397 +-1.26 37.465..41.173 0.1015 tied\n"
    "39.423 +-1.332 37.258..41.366 0.089 tied\n"
    "39.422 +-1.245 37.554..41.174 0.071 tied\n"
    "39.479 +-1.259 37.576..41.28 0.06 tied\n"
    "39.378 +-1.251 37.431..41.132 0.103 tied best\n"
    "39.397 +-1.261 37.461..41.174 0.101 tied\n"
    "39.427 +-1.234 37.575..41.164 0.065 tied\n"
    "39.411 +-1.471 36.099..41.623 0.1255 tied\n"
    "39.595 +-1.622 36.701..43.886 0.0745 tied\n"
    "39.467 +-1.275 37.535..41.29 0.0675 tied\n"
    "39.462 +-1.282 37.518..41.296 0.0715 tied\n",

    "1012 +-22.32 993.49..1038.2 0\n"
    "996.06 +-13.21 985..1011.5 0\n"
    "nan +-nan nan..nan 0\n"
    "1014.5 +-13.09 1003.6..1029.8 0\n"
    "1020.2 +-19.82 1003.7..1043.4 0\n"
    "1029.7 +-16.59 1015.8..1049 0\n"
    "1028.8 +-13.07 1017.8..1044 0\n"
    "1019.1 +-14.52 1007..1036.1 0\n"
    "1024.1 +-16.55 1010.2..1043.4 0\n"
    "nan +-nan nan..nan 0\n"
    "1026.6 +-22.46 1007.8..1052.8 0\n"
    "1037.2 +-16.53 1023.3..1056.4 0\n"
    "1033.1 +-26.17 1011.3..1063.7 0\n"
    "1045 +-14.49 1032.8..1061.8 0\n"
    "1029.7 +-19.78 1013.2..1052.8 0\n"
    "1027.8 +-13.66 1016.3..1043.7 0\n"
    "nan +-nan nan..nan 0\n"
    "1057.1 +-19.77 1035.5..1085.2 0.001 tied\n"
    "1049.5 +-14.49 1037.2..1066.3 0\n"
    "1060.9 +-16.54 1042.7..1084.4 0 tied\n"
    "1054 +-11.23 1044.5..1067.1 0\n"
    "1061.5 +-16.54 1043.3..1085 0.0015 tied\n"
    "1064.6 +-13.07 1050.2..1083.1 0 tied\n"
    "nan +-nan nan..nan 0\n"
    "1071.9 +-13.08 1057.5..1090.4 0.007 tied\n"
    "1077.7 +-14.4 1061.8..1098 0.053 tied\n"
    "1076.8 +-14.54 1060.8..1097.3 0.051 tied\n"
    "1080.7 +-19.94 1058.7..1108.8 0.207 tied\n"
    "1084.7 +-14.57 1068.5..1105.2 0.2675 tied\n"
    "1087.9 +-13.13 1073.4..1106.4 0.412 tied best\n",

    "1.006e-06 +-8.595e-09 9.9334e-07..1.0165e-06 0.262 tied best\n"
    "1.0144e-06 +-1.141e-08 9.9751e-07..1.0282e-06 0.025 tied\n"
    "1.0062e-06 +-5.624e-09 9.9784e-07..1.013e-06 0.1235 tied\n"
    "1.0156e-06 +-1.142e-08 9.9868e-07..1.0294e-06 0.0215 tied\n"
    "1.0068e-06 +-1.15e-08 9.8983e-07..1.0208e-06 0.2725 tied\n"
    "1.0088e-06 +-7.293e-09 9.9796e-07..1.0176e-06 0.0555 tied\n"
    "1.008e-06 +-6.247e-09 9.987e-07..1.0156e-06 0.068 tied\n"
    "1.0169e-06 +-8.604e-09 1.0041e-06..1.0273e-06 0.002 tied\n"
    "1.0067e-06 +-5.704e-09 9.9822e-07..1.0136e-06 0.0965 tied\n"
    "1.0117e-06 +-6.277e-09 1.0024e-06..1.0193e-06 0.007 tied\n"
    "1.0152e-06 +-6.307e-09 1.0058e-06..1.0228e-06 0.0005 tied\n"
    "1.0111e-06 +-8.641e-09 9.9828e-07..1.0216e-06 0.03 tied\n"
    "1.0119e-06 +-7.156e-09 1.0013e-06..1.0206e-06 0.0115 tied\n"
    "1.0191e-06 +-7.242e-09 1.0083e-06..1.0278e-06 0 tied\n"
    "1.0154e-06 +-1.141e-08 9.9849e-07..1.0292e-06 0.0185 tied\n"
    "1.0128e-06 +-5.703e-09 1.0043e-06..1.0197e-06 0.002 tied\n"
    "1.0194e-06 +-7.393e-09 1.0084e-06..1.0283e-06 0 tied\n"
    "1.0187e-06 +-8.67e-09 1.0058e-06..1.0292e-06 0.0005 tied\n"
    "1.0203e-06 +-5.752e-09 1.0117e-06..1.0272e-06 0 tied\n"
    "1.0198e-06 +-5.775e-09 1.0111e-06..1.0267e-06 0 tied\n"
    "1.0173e-06 +-6.247e-09 1.008e-06..1.0248e-06 0 tied\n"
    "1.0151e-06 +-7.144e-09 1.0045e-06..1.0238e-06 0.0005 tied\n"
    "1.0238e-06 +-5.752e-09 1.0171e-06..1.0287e-06 0\n"
    "1.0236e-06 +-8.867e-09 1.0104e-06..1.0343e-06 0 tied\n"
    "1.0263e-06 +-7.221e-09 1.0179e-06..1.0324e-06 0\n"
    "1.0264e-06 +-5.814e-09 1.0197e-06..1.0314e-06 0\n"
    "1.0199e-06 +-1.145e-08 1.0029e-06..1.0337e-06 0.003 tied\n"
    "1.0243e-06 +-7.314e-09 1.0159e-06..1.0306e-06 0\n"
    "1.0274e-06 +-6.561e-09 1.0198e-06..1.033e-06 0\n"
    "1.0268e-06 +-6.388e-09 1.0194e-06..1.0322e-06 0\n"
    "1.0349e-06 +-8.806e-09 1.0247e-06..1.0423e-06 0\n"
    "1.035e-06 +-7.338e-09 1.0265e-06..1.0413e-06 0\n"
    "1.037e-06 +-1.183e-08 1.0233e-06..1.047e-06 0\n"
    "1.0364e-06 +-6.495e-09 1.0289e-06..1.0419e-06 0\n"
    "1.0318e-06 +-6.467e-09 1.0243e-06..1.0373e-06 0\n"
    "1.0339e-06 +-8.783e-09 1.0238e-06..1.0414e-06 0\n"
    "1.0376e-06 +-8.89e-09 1.0273e-06..1.0451e-06 0\n"
    "1.0395e-06 +-5.866e-09 1.0327e-06..1.0445e-06 0\n"
    "1.0422e-06 +-7.525e-09 1.0334e-06..1.0485e-06 0\n"
    "1.0395e-06 +-6.574e-09 1.0319e-06..1.0451e-06 0\n",

    "50 +-0 50..50 1 tied best\n"
    "54 +-0 54..54 0\n"
    "58 +-0 58..58 0\n"
    "62 +-0 62..62 0\n"
    "66 +-0 66..66 0\n"
    "70 +-0 70..70 0\n"
    "74 +-0 74..74 0\n",
};

static const char expected_shares[] =
    "7 0.1 1: -61\n"
    "8 0.1 1: 0\n"
    " main 0.88314 0.30632..0.96227 total 0.88314 0.33401..0.96227\n"
    " main 0.00171 0.00003..0.02278 total 0.00190 0.00025..0.02315\n"
    " main 0.09239 0.00420..0.53594 total 0.09239 0.01315..0.53594\n"
    " main 0.03690 0.00028..0.18887 total 0.04016 0.00192..0.20838\n"
    " pair 0.00000 0.00000..0.00175\n"
    " pair 0.00017 0.00000..0.00041\n"
    " pair 0.00135 0.00000..0.00249\n"
    "20 0.5 -2: 0\n"
    " main 0.72344 0.65306..0.81288 total 0.72344 0.65306..0.81288\n"
    " main 0.03697 0.00825..0.08060 total 0.03697 0.01031..0.08060\n"
    " main 0.00000 0.00000..0.00000 total 0.00000 0.00000..0.00000\n"
    " main 0.24385 0.15777..0.30618 total 0.26112 0.16800..0.32191\n"
    " pair 0.00558 0.00012..0.00828\n"
    " pair 0.00000 0.00000..0.00000\n"
    " pair 0.00000 0.00000..0.00000\n"
    "40 0.05 5: 0\n"
    " main 0.67625 0.66552..0.71177 total 0.67625 0.66552..0.71177\n"
    " main 0.01830 0.01061..0.02796 total 0.01873 0.01152..0.02796\n"
    " main 0.10760 0.08828..0.11503 total 0.10760 0.08828..0.11503\n"
    " main 0.21276 0.19285..0.22640 total 0.24062 0.22522..0.25622\n"
    " pair 0.00923 0.00107..0.01203\n"
    " pair 0.00010 0.00000..0.00058\n"
    " pair 0.00000 0.00000..0.00426\n"
    "40 2 0: 0\n"
    " main 0.59551 0.32550..0.81367 total 0.59551 0.34308..0.81367\n"
    " main 0.00177 0.00001..0.03211 total 0.00370 0.00155..0.03398\n"
    " main 0.00000 0.00000..0.00000 total 0.00000 0.00000..0.00000\n"
    " main 0.38871 0.19753..0.62391 total 0.44055 0.21670..0.71164\n"
    " pair 0.00105 0.00000..0.00582\n"
    " pair 0.00000 0.00000..0.00000\n"
    " pair 0.00000 0.00000..0.00000\n";

static void rankings_are_those_that_are_expected(void **unused) {
    (void)unused;
    for (size_t r = 0; r < COUNT_OF(rankings); r++) {
        told_clear();
        rank(&rankings[r], r + 1);
        told_is(expected_rankings[r]);
    }
}

static void shares_are_those_that_are_expected(void **unused) {
    (void)unused;
    told_clear();
    analyse_all();
    told_is(expected_shares);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rankings_are_those_that_are_expected),
        cmocka_unit_test(shares_are_those_that_are_expected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
