/* SPDX-License-Identifier: MIT */
/* Exact figures of made inputs: of rankings, of shares of the variance, of effects. Other tests
 * show that such figures are true as often as they say; these hold what is said of worlds that have
 * something of everything, so that a change of any figure is one that was meant. Where one was
 * meant, a failure prints the new figures. */
#include <math.h>

#include "explore/findings/effects.h"
#include "explore/findings/findings.h"
#include "explore/findings/ranking.h"
#include "spaces.h"

/* NaN is equal to NaN. */
static bool agree(double found, double expected, double tolerance) {
    return isnan(expected) ? isnan(found)
                           : fabs(found - expected) <= tolerance * (1 + fabs(expected));
}

static void expect_figures(const char *name, const double *found, const double *expected,
                           size_t count, double tolerance) {
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += !agree(found[i], expected[i], tolerance);
    for (size_t i = 0; i < count && wrong; i++)
        print_message("%.9g,%s", found[i], i % 6 == 5 ? "\n" : " ");
    if (wrong)
        fail_msg("%zu of %zu figures of %s are others", wrong, count, name);
}

/* ---- rankings ---- */

enum { COUNT = 14 };

/* How often one is the best may differ by a draw or two where rounding does. What stands behind the
 * inputs counts for nothing. */
static void expect_ranking(const char *name, const struct spex_ranking_input *inputs, size_t count,
                           bool maximise, size_t best, const double (*expected)[6]) {
    struct spex_ranking_input guarded[COUNT + 1];
    struct spex_ranking of[COUNT + 1];
    double found[COUNT][6], all = 0;
    size_t leader;
    memcpy(guarded, inputs, count * sizeof(*inputs));
    guarded[count] = (struct spex_ranking_input){9, -1000, 3, 1};
    memset(&of[count], '#', sizeof(of[count]));
    assert_int_equal(spex_ranking_of(guarded, count, maximise, of, &leader), 0);
    for (size_t i = 0; i < sizeof(of[count]); i++)
        assert_int_equal(((const char *)&of[count])[i], '#');
    for (size_t c = 0; c < count; c++) {
        const double figures[] = {of[c].estimate, of[c].margin, of[c].low,
                                  of[c].high,     of[c].first,  of[c].tied};
        memcpy(found[c], figures, sizeof(figures));
        all += of[c].first;
        if (fabs(of[c].first - expected[c][4]) <= 0.0015)
            found[c][4] = expected[c][4];
    }
    expect_figures(name, found[0], expected[0], 6 * count, 1e-6);
    assert_int_equal(leader, best);
    assert_true(fabs(all - 1) < 1e-9);
}

/* Trials of ten configurations or more scatter differently, which is estimated; one has none. */
TEST(ranking_of_rates) {
    static const double expected[COUNT][6] = {
        {100.788668, 4.15488107, 97.6483327, 106.163761, 0, 0},
        {NAN, NAN, NAN, NAN, 0, 0},
        {104.953355, 3.54194278, 102.053827, 109.251087, 0, 0},
        {113.947141, 4.53610376, 108.464102, 120.074444, 0.451, 1},
        {108.677328, 5.53702163, 102.47358, 116.657359, 0.0225, 1},
        {103.898445, 1.9044821, 102.314277, 106.188313, 0, 0},
        {113.976477, 3.01653166, 110.360106, 118.151698, 0.3355, 1},
        {108.17728, 4.64514024, 103.005637, 114.979825, 0.0055, 1},
        {NAN, NAN, NAN, NAN, 0, 0},
        {113.237778, 2.58543496, 110.200512, 116.859273, 0.1235, 1},
        {107.571976, 3.16010241, 104.040977, 112.267186, 0, 1},
        {103.214761, 5.66083327, 97.7298228, 112.265114, 0, 1},
        {111.945756, 3.40484618, 108.034882, 116.710224, 0.0615, 1},
        {106.659616, 3.79797932, 102.551943, 112.307875, 0, 1}};
    struct spex_ranking_input inputs[COUNT];
    for (size_t c = 0; c < COUNT; c++) {
        uint64_t trials = (c * 5 + 2) % 7;
        double mean = 100 + (double)(c * 11 % 17), scatter = 1 + (double)(c * c % 5);
        inputs[c] = (struct spex_ranking_input){
            trials, mean, trials > 1 ? scatter * scatter * (double)(trials - 1) : 0, NAN};
    }
    expect_ranking("rates", inputs, COUNT, true, 6, expected);
}

/* Some are below 0, so differences count; of half of them the runs say too large an error, and the
 * trials of one were disturbed. */
TEST(ranking_of_differences) {
    static const double expected[COUNT][6] = {
        {-5.63836367, 1.31176366, -7.24002304, -4.42390574, 0.8375, 1},
        {-0.767475442, 1.27696464, -2.24182475, 0.319095821, 0, 0},
        {4.10907131, 1.32407957, 2.57533345, 5.23083786, 0, 0},
        {-4.67204756, 1.27875648, -6.23431313, -3.48929198, 0.151, 1},
        {0.214407834, 1.31593292, -1.30590028, 1.33326518, 0, 0},
        {5.08257189, 1.36311974, 3.50266344, 6.23632945, 0, 0},
        {-3.68367551, 1.30921336, -5.28392966, -2.47338562, 0.0115, 1},
        {1.18284788, 1.27689117, -0.293264261, 2.26750825, 0, 0},
        {6.06047134, 1.3256737, 4.52309093, 7.18182242, 0, 0},
        {-2.71773662, 1.27733209, -4.28017227, -1.53825019, 0, 1},
        {2.16167738, 1.31601439, 0.639286077, 3.27861573, 0, 0},
        {7.04237027, 1.28015495, 5.55737454, 8.12475692, 0, 0},
        {-1.73474872, 1.30847435, -3.24448108, -0.620267524, 0, 0},
        {3.13321046, 1.2771116, 1.65499402, 4.21621073, 0, 0}};
    struct spex_ranking_input inputs[COUNT];
    for (size_t c = 0; c < COUNT; c++)
        inputs[c] =
            (struct spex_ranking_input){3 + c % 2, (double)(c * 5 % 14) - 6,
                                        c == 5 ? 40 : 1 + (double)(c % 3), c % 2 ? 1.3 : 0.5};
    expect_ranking("differences", inputs, COUNT, false, 0, expected);
}

/* Times, of which runs say more than trials, less, and nothing; the least in one trial alone. */
TEST(ranking_of_times) {
    static const double expected[5][6] = {
        {0.201717957, 0.013066286, 0.186556003, 0.213494216, 0, 0},
        {0.101234459, 0.00696590106, 0.0922698094, 0.108965811, 0.103, 1},
        {0.093690081, 0.0161687142, 0.0742643744, 0.116586938, 0.7265, 1},
        {0.302662961, 0.0407535639, 0.254357614, 0.338953812, 0, 0},
        {0.116438257, 0.0445662132, 0.0702784327, 0.176292026, 0.1715, 1}};
    static const struct spex_ranking_input inputs[] = {{4, 0.2, 0.0003, 0.01},
                                                       {4, 0.1, 0.0001, 0.002},
                                                       {1, 0.09, 0, NAN},
                                                       {2, 0.3, 0.001, 0},
                                                       {6, 0.105, 0.0002, 0.05}};
    expect_ranking("times", inputs, COUNT_OF(inputs), false, 2, expected);
}

TEST(ranking_of_one_and_two) {
    static const double one[1][6] = {{20, 2.78953229, 17.3120449, 23.1053006, 1, 1}},
                        two[2][6] = {{20.58577, 2.56601674, 18.0785771, 23.970756, 0.363, 1},
                                     {20.8458686, 3.05178312, 17.8640447, 24.775818, 0.637, 1}};
    static const struct spex_ranking_input inputs[] = {{3, 20, 8, 0.5}, {2, 22, 2, 4}};
    expect_ranking("one", inputs, 1, true, 0, one);
    expect_ranking("two", inputs, 2, true, 1, two);
}

/* ---- shares of the variance ---- */

static void shares_of(const struct spex_sensitivity_share *share, double *figures) {
    figures[0] = share->value;
    figures[1] = share->low;
    figures[2] = share->high;
}

/* Parameters of one value, of few and of more than 16; one that applies to half of the space; and a
 * constraint. */
static const char shares_xml[] =
    "<space name='s'><parameter name='a' type='integer' min='1' max='20'/>"
    "<parameter name='on' type='boolean' default='true'/>"
    "<parameter name='b' type='integer' min='1' max='7' default='1' when='$on'/>"
    "<parameter name='c' type='categorical' values='x y z'/>"
    "<parameter name='only' type='integer' values='5'/>"
    "<constraint require=\"not($c = 'z' and $a &gt; 15)\"/>"
    "<objective probe='q:tpt' metric='throughput' goal='maximise'/></space>";

enum { SHARES_MAX = 450, PARAMETERS = 5 };

struct shares {
    struct spex_space_file *file;
    size_t levels[SHARES_MAX + 1][PARAMETERS];
    struct spex_sensitivity_input inputs[SHARES_MAX + 1];
};

/* Allowed configurations at random; a and b act together, c alone. Each sixth has no trial. What
 * stands behind them counts for nothing. */
static void make_shares(struct shares *shares, size_t count, double least) {
    uint64_t random = 7;
    shares->file = space_of(shares_xml);
    const struct spex_space *space = &shares->file->space;
    for (size_t i = 0; i < count; i++) {
        size_t *l = shares->levels[i];
        do
            for (size_t p = 0; p < PARAMETERS; p++)
                l[p] = random_below(&random, space->parameters[p].count);
        while (!spex_space_settle(space, l));
        double together = ((double)l[0] - 9) * ((double)l[2] - 3);
        double mean = least + 2 * (double)l[0] + (l[1] ? 3 * together : 10) + 20 * (double)l[3] +
                      (double)random_below(&random, 10);
        uint64_t trials = i % 6 == 5 ? 0 : 1 + i % 3;
        shares->inputs[i] = (struct spex_sensitivity_input){
            l, trials, trials ? mean : 0, trials > 1 ? 30.0 * (double)(1 + i % 4) : 0};
    }
    shares->inputs[count] = (struct spex_sensitivity_input){shares->levels[count], 3, -5000, 1000};
}

static void expect_shares(size_t count, double least, const double (*expected)[6]) {
    static struct shares shares;
    struct spex_sensitivity of[PARAMETERS];
    double found[PARAMETERS * 6];
    make_shares(&shares, count, least);
    assert_int_equal(spex_sensitivity_of(&shares.file->space, shares.inputs, count, of), 0);
    for (size_t p = 0; p < PARAMETERS; p++) {
        shares_of(&of[p].main, &found[6 * p]);
        shares_of(&of[p].total, &found[6 * p + 3]);
    }
    expect_figures("shares", found, expected[0], COUNT_OF(found), 1e-4);
    spex_space_free(shares.file);
}

TEST(shares_of_ratios) {
    static const double expected[PARAMETERS][6] = {
        {0.11015065, 0.00168722743, 0.261642818, 0.497994052, 0.3114809, 0.574620701},
        {0.00323376628, 7.32616747e-06, 0.146710117, 0.532158912, 0.329087591, 0.820485512},
        {0.0343072816, 0.00545285205, 0.181407033, 0.675155302, 0.154589402, 0.728043315},
        {0.333937791, 0.211884736, 0.475361877, 0.408418975, 0.265471933, 0.555322489},
        {0, 0, 0, 0, 0, 0}};
    expect_shares(48, 150, expected);
}

TEST(shares_of_differences) {
    static const double expected[PARAMETERS][6] = {
        {0.0131781325, 0.00146326115, 0.171979871, 0.372653494, 0.112675188, 0.506658906},
        {0.161177181, 0.00913748979, 0.507713158, 0.687391039, 0.249846109, 1},
        {0.0288248683, 0.00342294358, 0.149738538, 0.306423061, 0.0116060949, 0.558365945},
        {0.477527953, 0.126976508, 0.572714822, 0.571848238, 0.236438741, 0.700328343},
        {0, 0, 0, 0, 0, 0}};
    expect_shares(30, -60, expected);
}

/* Of more than 200 with trials, some are left out. */
TEST(shares_of_many) {
    static const double expected[PARAMETERS][6] = {
        {0.109577918, 0.0999433902, 0.119455314, 0.600353868, 0.563378402, 0.625420087},
        {0.000730106667, 9.93281517e-05, 0.00340778479, 0.393867923, 0.338062037, 0.481690304},
        {0.0160673211, 0.00991743655, 0.0217190832, 0.629375311, 0.59272791, 0.709737869},
        {0.172542115, 0.145248671, 0.248272756, 0.233294389, 0.190901689, 0.305857847},
        {0, 0, 0, 0, 0, 0}};
    expect_shares(SHARES_MAX, 120, expected);
}

TEST(shares_of_pairs) {
    static const double expected[] = {0.188530703, 0.0202568472, 0.191272937, 0, 0, 0, 0,
                                      0,           0.0591885429};
    static const size_t pairs[][2] = {{0, 2}, {0, 3}, {1, 2}};
    static struct shares shares;
    struct spex_sensitivity_share share;
    double found[COUNT_OF(pairs) * 3];
    make_shares(&shares, 48, 150);
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        assert_int_equal(spex_sensitivity_pair(&shares.file->space, shares.inputs, 48, pairs[i][0],
                                               pairs[i][1], &share),
                         0);
        shares_of(&share, &found[3 * i]);
    }
    expect_figures("pairs", found, expected, COUNT_OF(found), 1e-4);
    spex_space_free(shares.file);
}

/* ---- effects ---- */

static void add_means(struct spex_summary *summary, const struct shares *shares, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct spex_sensitivity_input *input = &shares->inputs[i];
        struct spex_measured measured = {.value = input->mean, .error = NAN};
        struct spex_trial trial = {.levels = (size_t *)(uintptr_t)input->levels,
                                   .ok = input->trials > 0,
                                   .status = (char *)(uintptr_t) "no luck",
                                   .measured = &measured};
        assert_int_equal(spex_summary_add(summary, &trial), 0);
    }
}

/* Shares among what was tried, and of the model, of which the three strongest pairs are told. */
TEST(effects_of_a_model) {
    static const double expected[PARAMETERS * 2 + 9] = {0,           0.132636278,
                                                        0,           6.20414907e-06,
                                                        0.186213284, 0.00434205048,
                                                        0.134879829, 0.223236931,
                                                        NAN,         0,
                                                        0.284409689, 0.140118793,
                                                        0.309608636, 0.0623347644,
                                                        0,           0.127622964,
                                                        0,           0,
                                                        0.075116823},
                                                  pairs[] = {0, 2, 1, 2, 0, 1};
    static struct shares shares;
    struct spex_summary summary;
    struct spex_effects of;
    double found[PARAMETERS * 2 + 9], who[6];
    make_shares(&shares, 60, 150);
    spex_summary_init(&summary, &shares.file->space);
    add_means(&summary, &shares, 60);
    assert_int_equal(spex_effects_init(&of, &summary), 0);
    assert_true(of.modelled);
    assert_int_equal(of.interaction_count, 3);
    for (size_t p = 0; p < PARAMETERS; p++) {
        found[2 * p] = of.parameters[p].share;
        found[2 * p + 1] = spex_effects_share(&of, p).value;
    }
    for (size_t i = 0; i < 3; i++) {
        shares_of(&of.interactions[i].share, &found[2 * PARAMETERS + 3 * i]);
        who[2 * i] = (double)of.interactions[i].a;
        who[2 * i + 1] = (double)of.interactions[i].b;
    }
    expect_figures("pairs that are told", who, pairs, 6, 0);
    expect_figures("effects", found, expected, COUNT_OF(found), 1e-4);
    spex_effects_free(&of);
    spex_summary_free(&summary);
    spex_space_free(shares.file);
}
