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

    "102.85 +-4.014 98.143..107.96 0.452 tied\n"
    "102.25 +-2.118 99.556..104.76 0.523 tied best\n"
    "nan +-nan nan..nan 0\n"
    "105.68 +-3.019 102.11..108.33 0.014\n"
    "108.25 +-2.051 105.72..109.93 0.0005\n"
    "107.26 +-4.013 102.26..110.47 0.0105\n",

    "-3.0295 +-1.363 -3.9579..-1.1271 0.001\n"
    "-2.6935 +-0.524 -3.1288..-2.054 0\n"
    "-1.9443 +-1.067 -2.8238..-0.61459 0\n"
    "-0.85363 +-0.5183 -1.3183..-0.24471 0\n"
    "-1.0357 +-0.5612 -1.5348..-0.37291 0\n"
    "-0.64745 +-1.169 -1.7824..0.65791 0.0285\n"
    "0.17263 +-0.948 -0.9977..1.3351 0.3115 tied\n"
    "0.47914 +-0.4309 0.0052547..1.0389 0.659 tied best\n",

    "39.46 +-1.25 37.581..41.225 0.0725 tied\n"
    "39.394 +-1.235 37.536..41.137 0.103 tied\n"
    "39.41 +-1.267 37.507..41.2 0.0865 tied\n"
    "39.422 +-1.245 37.55..41.179 0.0785 tied\n"
    "39.463 +-1.234 37.607..41.203 0.0605 tied\n"
    "39.378 +-1.22 37.542..41.099 0.099 tied best\n"
    "39.394 +-1.235 37.536..41.136 0.0975 tied\n"
    "39.427 +-1.234 37.571..41.168 0.0785 tied\n"
    "39.396 +-1.268 37.491..41.187 0.1095 tied\n"
    "39.456 +-1.278 37.537..41.261 0.0745 tied\n"
    "39.453 +-1.249 37.575..41.216 0.0695 tied\n"
    "39.449 +-1.255 37.562..41.221 0.0705 tied\n",

    "1012.2 +-22.23 993.74..1038.3 0\n"
    "996.26 +-13.13 985.31..1011.6 0\n"
    "nan +-nan nan..nan 0\n"
    "1014.6 +-13.08 1003.6..1029.8 0\n"
    "1020.2 +-19.81 1003.7..1043.4 0\n"
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
    "1057.1 +-19.77 1040.5..1080.1 0.001\n"
    "1049.5 +-14.49 1037.2..1066.3 0\n"
    "1060.9 +-16.54 1046.9..1080.1 0\n"
    "1054 +-11.23 1044.5..1067.1 0\n"
    "1061.5 +-16.54 1047.5..1080.7 0.0015\n"
    "1064.6 +-13.07 1053.5..1079.7 0\n"
    "nan +-nan nan..nan 0\n"
    "1071.9 +-13.08 1060.8..1087.1 0.007\n"
    "1077.6 +-14.38 1061.7..1097.9 0.0535 tied\n"
    "1076.8 +-14.52 1060.7..1097.3 0.051 tied\n"
    "1080.5 +-19.86 1058.6..1108.5 0.2065 tied\n"
    "1084.6 +-14.54 1068.5..1105.1 0.268 tied\n"
    "1087.8 +-13.1 1073.3..1106.3 0.4115 tied best\n",

    "1.0061e-06 +-8.569e-09 9.9343e-07..1.0166e-06 0.26 tied best\n"
    "1.0144e-06 +-1.141e-08 9.9748e-07..1.0282e-06 0.0245 tied\n"
    "1.0062e-06 +-5.62e-09 9.9784e-07..1.013e-06 0.1265 tied\n"
    "1.0156e-06 +-1.142e-08 9.9865e-07..1.0294e-06 0.0215 tied\n"
    "1.0069e-06 +-1.141e-08 9.9016e-07..1.0209e-06 0.2665 tied\n"
    "1.0088e-06 +-7.288e-09 9.9797e-07..1.0177e-06 0.0575 tied\n"
    "1.008e-06 +-6.243e-09 9.987e-07..1.0156e-06 0.069 tied\n"
    "1.0169e-06 +-8.604e-09 1.0071e-06..1.0243e-06 0.002\n"
    "1.0067e-06 +-5.7e-09 9.9822e-07..1.0136e-06 0.0985 tied\n"
    "1.0117e-06 +-6.277e-09 1.0045e-06..1.0171e-06 0.007\n"
    "1.0152e-06 +-6.307e-09 1.0079e-06..1.0206e-06 0.0005\n"
    "1.0111e-06 +-8.639e-09 9.9826e-07..1.0216e-06 0.031 tied\n"
    "1.0119e-06 +-7.156e-09 1.0037e-06..1.018e-06 0.0105\n"
    "1.0191e-06 +-7.242e-09 1.0108e-06..1.0253e-06 0\n"
    "1.0154e-06 +-1.141e-08 1.0023e-06..1.0252e-06 0.019\n"
    "1.0128e-06 +-5.703e-09 1.0063e-06..1.0177e-06 0.002\n"
    "1.0194e-06 +-7.393e-09 1.0109e-06..1.0257e-06 0\n"
    "1.0187e-06 +-8.67e-09 1.0087e-06..1.0261e-06 0.0005\n"
    "1.0203e-06 +-5.752e-09 1.0136e-06..1.0252e-06 0\n"
    "1.0198e-06 +-5.775e-09 1.0131e-06..1.0247e-06 0\n"
    "1.0173e-06 +-6.247e-09 1.0101e-06..1.0226e-06 0\n"
    "1.0151e-06 +-7.144e-09 1.0069e-06..1.0212e-06 0.0005\n"
    "1.0238e-06 +-5.752e-09 1.0171e-06..1.0287e-06 0\n"
    "1.0236e-06 +-8.867e-09 1.0134e-06..1.0312e-06 0\n"
    "1.0263e-06 +-7.221e-09 1.0179e-06..1.0324e-06 0\n"
    "1.0264e-06 +-5.814e-09 1.0197e-06..1.0314e-06 0\n"
    "1.0199e-06 +-1.145e-08 1.0068e-06..1.0297e-06 0.003\n"
    "1.0243e-06 +-7.314e-09 1.0159e-06..1.0306e-06 0\n"
    "1.0274e-06 +-6.561e-09 1.0198e-06..1.033e-06 0\n"
    "1.0268e-06 +-6.388e-09 1.0194e-06..1.0322e-06 0\n"
    "1.0348e-06 +-8.793e-09 1.0246e-06..1.0423e-06 0\n"
    "1.035e-06 +-7.331e-09 1.0265e-06..1.0412e-06 0\n"
    "1.0369e-06 +-1.174e-08 1.0233e-06..1.0468e-06 0\n"
    "1.0364e-06 +-6.488e-09 1.0289e-06..1.0419e-06 0\n"
    "1.0318e-06 +-6.467e-09 1.0243e-06..1.0373e-06 0\n"
    "1.0339e-06 +-8.775e-09 1.0238e-06..1.0413e-06 0\n"
    "1.0376e-06 +-8.86e-09 1.0273e-06..1.045e-06 0\n"
    "1.0395e-06 +-5.855e-09 1.0327e-06..1.0444e-06 0\n"
    "1.0421e-06 +-7.476e-09 1.0334e-06..1.0484e-06 0\n"
    "1.0395e-06 +-6.557e-09 1.0319e-06..1.045e-06 0\n",

    "50 +-0 50..50 1 tied best\n"
    "54 +-0 54..54 0\n"
    "58 +-0 58..58 0\n"
    "62 +-0 62..62 0\n"
    "66 +-0 66..66 0\n"
    "70 +-0 70..70 0\n"
    "74 +-0 74..74 0\n"};

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
