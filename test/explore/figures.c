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
        {100.788668, 4.35354825, 97.6500869, 106.357183, 0, 0},
        {NAN, NAN, NAN, NAN, 0, 0},
        {104.953355, 3.60997615, 102.052044, 109.271996, 0, 0},
        {113.947141, 4.65086099, 108.215499, 120.0748, 0.447, 1},
        {108.677328, 5.61292225, 102.484833, 116.645786, 0.02, 1},
        {103.898445, 1.9478536, 102.311109, 106.206816, 0, 0},
        {113.976477, 3.09831496, 110.208416, 118.157563, 0.3395, 1},
        {108.17728, 4.72285668, 102.999468, 114.981201, 0.0055, 1},
        {NAN, NAN, NAN, NAN, 0, 0},
        {113.237778, 2.64662209, 110.109193, 116.868486, 0.1235, 1},
        {107.571976, 3.23155328, 104.017184, 112.302303, 0, 1},
        {103.214761, 5.7793616, 97.7303449, 112.36453, 0, 1},
        {111.945756, 3.46498493, 107.962246, 116.717964, 0.0615, 1},
        {106.659616, 3.86655332, 102.541182, 112.342354, 0, 1}};
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
        {-5.63836367, 1.3369564, -7.25523737, -4.38586758, 0.836, 1},
        {-0.767475442, 1.30010639, -2.25914037, 0.341072419, 0, 0},
        {4.10907131, 1.34813583, 2.54920486, 5.24547652, 0, 0},
        {-4.67204756, 1.30311019, -6.25063316, -3.45395853, 0.151, 1},
        {0.214407834, 1.33931175, -1.32482304, 1.35380045, 0, 0},
        {5.08257189, 1.38854292, 3.47306363, 6.25014946, 0, 0},
        {-3.68367551, 1.33337744, -5.3013096, -2.43975232, 0.0115, 1},
        {1.18284788, 1.29994765, -0.313601642, 2.28629367, 0, 0},
        {6.06047134, 1.35058612, 4.49302163, 7.19419388, 0, 0},
        {-2.71773662, 1.30090127, -4.29895726, -1.50710399, 0, 1},
        {2.16167738, 1.33948464, 0.617044705, 3.29601398, 0, 0},
        {7.04237027, 1.30504315, 5.52620605, 8.13629234, 0, 0},
        {-1.73474872, 1.33200351, -3.26037639, -0.596369372, 0, 0},
        {3.13321046, 1.30042411, 1.63128564, 4.23213386, 0, 0}};
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
        {0.201717957, 0.0135985526, 0.186395668, 0.213592774, 0, 0},
        {0.101234459, 0.00726321647, 0.0921635307, 0.109185145, 0.106, 1},
        {0.093690081, 0.0176917685, 0.0743158617, 0.118558937, 0.7245, 1},
        {0.302662961, 0.0431238523, 0.252638164, 0.338885868, 0, 0},
        {0.116438257, 0.0460658353, 0.0702249478, 0.177012457, 0.1695, 1}};
    static const struct spex_ranking_input inputs[] = {{4, 0.2, 0.0003, 0.01},
                                                       {4, 0.1, 0.0001, 0.002},
                                                       {1, 0.09, 0, NAN},
                                                       {2, 0.3, 0.001, 0},
                                                       {6, 0.105, 0.0002, 0.05}};
    expect_ranking("times", inputs, COUNT_OF(inputs), false, 2, expected);
}

TEST(ranking_of_one_and_two) {
    static const double one[1][6] = {{20, 4.94062001, 15.6605869, 25.5418269, 1, 1}},
                        two[2][6] = {{20.58577, 2.60824454, 18.0673467, 24.0086752, 0.363, 1},
                                     {20.8458686, 3.05216677, 17.8652719, 24.7737104, 0.637, 1}};
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
