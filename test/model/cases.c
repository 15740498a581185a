/* SPDX-License-Identifier: MIT */
#include "cases.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "policies/explore/draw.h"

enum { POINTS_MAX = 10, REPEATS = 5, STREAM = 2000, OUTLIERS_IN = 10, THREADS_VALUES = 6 };

/* Exponents of up to two terms of up to three parameters, as twelfths of the power and the
 * logarithm's. */
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define N(twelfths, log)                                                                           \
    { twelfths, log }

static const struct kind {
    const char *name;
    size_t parameters;
    size_t terms;
    struct spex_exponents factors[3][3];
    /* THREADS: a grid, and the last parameter is 1, 2, 4, … */
    enum { GRID, CROSS, STREAMED, WITH_OUTLIERS, THREADS } design;
    /* RARE: a form whose exponents are not told from others in much noise; there is less of it. */
    enum { FORM, RARE, TABLE, PER_CALL, SAWTOOTH, VEE } pattern;
} kinds[] = {
    {"constant", 1, 0, {{{0, 0}}}, GRID, FORM},
    {"constant of two", 2, 0, {{{0, 0}}}, GRID, FORM},
    {"constant, outliers", 1, 0, {{{0, 0}}}, WITH_OUTLIERS, FORM},
    {"log n", 1, 1, {{N(0, 1)}}, GRID, FORM},
    {"log^2 n", 1, 1, {{N(0, 2)}}, GRID, FORM},
    {"sqrt n", 1, 1, {{N(6, 0)}}, GRID, FORM},
    {"n", 1, 1, {{N(12, 0)}}, GRID, FORM},
    {"n log n", 1, 1, {{N(12, 1)}}, GRID, FORM},
    {"n^1.5", 1, 1, {{N(18, 0)}}, GRID, FORM},
    {"n^2", 1, 1, {{N(24, 0)}}, GRID, FORM},
    {"n^2 log n", 1, 1, {{N(24, 1)}}, GRID, FORM},
    {"n^3", 1, 1, {{N(36, 0)}}, GRID, FORM},
    {"n^2 + n", 1, 2, {{N(24, 0)}, {N(12, 0)}}, GRID, FORM},
    {"n^(2/3)", 1, 1, {{N(8, 0)}}, GRID, RARE},
    {"n^(3/4)", 1, 1, {{N(9, 0)}}, GRID, RARE},
    {"n^(5/4)", 1, 1, {{N(15, 0)}}, GRID, RARE},
    {"n^(5/3)", 1, 1, {{N(20, 0)}}, GRID, RARE},
    {"n^(7/3)", 1, 1, {{N(28, 0)}}, GRID, RARE},
    {"n^2.5", 1, 1, {{N(30, 0)}}, GRID, RARE},
    {"sqrt n log n", 1, 1, {{N(6, 1)}}, GRID, RARE},
    {"n^1.5 log n", 1, 1, {{N(18, 1)}}, GRID, RARE},
    {"n, outliers", 1, 1, {{N(12, 0)}}, WITH_OUTLIERS, FORM},
    {"n log n, outliers", 1, 1, {{N(12, 1)}}, WITH_OUTLIERS, FORM},
    {"n^2, outliers", 1, 1, {{N(24, 0)}}, WITH_OUTLIERS, FORM},
    {"n, one by one", 1, 1, {{N(12, 0)}}, STREAMED, FORM},
    {"log n, one by one", 1, 1, {{N(0, 1)}}, STREAMED, FORM},
    {"n log n, one by one", 1, 1, {{N(12, 1)}}, STREAMED, FORM},
    {"n^2, one by one", 1, 1, {{N(24, 0)}}, STREAMED, FORM},
    {"a + b", 2, 2, {{N(12, 0)}, {{0, 0}, N(12, 0)}}, GRID, FORM},
    {"a b", 2, 1, {{N(12, 0), N(12, 0)}}, GRID, FORM},
    {"a log b", 2, 1, {{N(12, 0), N(0, 1)}}, GRID, FORM},
    {"a + b log b", 2, 2, {{N(12, 0)}, {{0, 0}, N(12, 1)}}, GRID, FORM},
    {"a^2 b", 2, 1, {{N(24, 0), N(12, 0)}}, GRID, FORM},
    {"a^1.5 sqrt b", 2, 1, {{N(18, 0), N(6, 0)}}, GRID, RARE},
    {"a^(4/3) + b^2 log b", 2, 2, {{N(16, 0)}, {{0, 0}, N(24, 1)}}, GRID, RARE},
    {"a log a, b does not matter", 2, 1, {{N(12, 1)}}, GRID, FORM},
    {"a + b, crossing", 2, 2, {{N(12, 0)}, {{0, 0}, N(12, 0)}}, CROSS, FORM},
    {"a b, crossing", 2, 1, {{N(12, 0), N(12, 0)}}, CROSS, FORM},
    {"a log b, crossing", 2, 1, {{N(12, 0), N(0, 1)}}, CROSS, FORM},
    {"a + b + c", 3, 3, {{N(12, 0)}, {{0, 0}, N(12, 0)}, {{0, 0}, {0, 0}, N(12, 0)}}, GRID, FORM},
    {"a b + c", 3, 2, {{N(12, 0), N(12, 0)}, {{0, 0}, {0, 0}, N(12, 0)}}, GRID, FORM},
    {"a b c", 3, 1, {{N(12, 0), N(12, 0), N(12, 0)}}, GRID, FORM},
    {"a b log c", 3, 1, {{N(12, 0), N(12, 0), N(0, 1)}}, GRID, FORM},
    {"a table of times", 1, 0, {{{0, 0}}}, GRID, TABLE},
    {"by chance", 1, 0, {{{0, 0}}}, GRID, PER_CALL},
    {"sawtooth", 1, 0, {{{0, 0}}}, GRID, SAWTOOTH},
    {"V", 1, 0, {{{0, 0}}}, GRID, VEE},
    {"1/p", 1, 1, {{N(-12, 0)}}, THREADS, FORM},
    {"1/p + p", 1, 2, {{N(-12, 0)}, {N(12, 0)}}, THREADS, FORM},
    {"1/sqrt p", 1, 1, {{N(-6, 0)}}, THREADS, RARE},
    {"1/p^2", 1, 1, {{N(-24, 0)}}, THREADS, RARE},
    {"a/p", 2, 1, {{N(12, 0), N(-12, 0)}}, THREADS, FORM},
    {"a^2/p + a", 2, 2, {{N(24, 0), N(-12, 0)}, {N(12, 0)}}, THREADS, FORM},
    {"a log a/p + p", 2, 2, {{N(12, 1), N(-12, 0)}, {{0, 0}, N(12, 0)}}, THREADS, FORM},
};

size_t model_case_kinds(void) {
    return LENGTH(kinds);
}

static double normal(struct spex_draw *draw) {
    return sqrt(-2 * log(1 - spex_draw_share(draw))) * cos(2 * M_PI * spex_draw_share(draw));
}

/* Values of one parameter: doubling, evenly apart, or somewhere between. How many. */
static size_t values_of(struct spex_draw *draw, size_t parameters, bool threads, double *values) {
    for (size_t v = 0; v < THREADS_VALUES && threads; v++)
        values[v] = exp2((double)v);
    if (threads)
        return THREADS_VALUES;

    static const double begins[] = {32, 50, 64, 100, 128, 1000}, few_begins[] = {4, 8, 10, 20, 100};
    bool few = parameters > 1;
    double begin = few ? few_begins[spex_draw_below(draw, LENGTH(few_begins))]
                       : begins[spex_draw_below(draw, LENGTH(begins))];
    uint64_t how = spex_draw_below(draw, 3);
    size_t count = few ? 5 : how == 0 ? 5 + spex_draw_below(draw, 6) : POINTS_MAX - how / 2;
    for (size_t v = 0; v < count; v++)
        values[v] = how == 0   ? begin * exp2((double)v)
                    : how == 1 ? begin * (double)(v + 1)
                               : floor(begin * pow(few ? 3 : 1.6, (double)v));
    return count;
}

struct made {
    struct model_case *of;
    const struct kind *kind;
    struct spex_draw draw;
    double values[3][POINTS_MAX];
    size_t counts[3];
    double table[POINTS_MAX];
};

/* Terms that make shares of the same order in the middle of the range, and a constant that makes
 * one, too, or none. */
static void make_truth(struct made *made) {
    struct spex_model *truth = &made->of->truth;
    const struct kind *kind = made->kind;
    double middle[3], columns[SPEX_MODEL_COLUMNS_MAX],
        scale = pow(10, -6 + 4 * spex_draw_share(&made->draw));
    truth->parameter_count = kind->parameters;
    truth->term_count = kind->terms;
    for (size_t p = 0; p < kind->parameters; p++) {
        middle[p] = made->values[p][made->counts[p] / 2];
        made->of->most[p] = made->values[p][made->counts[p] - 1];
    }
    for (size_t t = 0; t < kind->terms; t++)
        memcpy(truth->terms[t].factors, kind->factors[t], sizeof(kind->factors[t]));
    spex_model_columns(truth, middle, columns);
    for (size_t t = 0; t < kind->terms; t++)
        truth->terms[t].coefficient =
            scale * (0.3 + 0.7 * spex_draw_share(&made->draw)) / columns[t + 1];
    if (!kind->terms || spex_draw_below(&made->draw, 3))
        truth->constant = scale * (kind->terms ? 0.5 * spex_draw_share(&made->draw) : 1);
}

static void make_class(struct made *made) {
    struct model_case *of = made->of;
    int most = 0, logs = 0;
    for (size_t t = 0; t < made->kind->terms; t++) {
        int twelfths = 0, log = 0;
        for (size_t p = 0; p < made->kind->parameters; p++)
            if (made->kind->factors[t][p].twelfths >= 0) {
                twelfths += made->kind->factors[t][p].twelfths;
                log += made->kind->factors[t][p].log;
            }
        if (twelfths > most || (twelfths == most && log > logs)) {
            most = twelfths;
            logs = log;
        }
    }
    of->linear_too = most == 12 && logs == 1;
    of->changes = made->kind->pattern == VEE;
    of->truth.class = made->kind->pattern > RARE ? SPEX_MODEL_UNKNOWN
                      : !made->kind->terms       ? SPEX_MODEL_CONSTANT
                      : !most && !logs           ? SPEX_MODEL_DECREASING
                      : !most                    ? SPEX_MODEL_LOGARITHMIC
                      : most == 12 && !logs      ? SPEX_MODEL_LINEAR
                                                 : SPEX_MODEL_POLYNOMIAL;
}

/* Without noise. */
static double time_at(struct made *made, const double *x, size_t point) {
    double share = (double)point / (double)(made->counts[0] - 1);
    switch (made->kind->pattern) {
    case TABLE:
        return made->table[point];
    case PER_CALL:
        return 1e-5 * exp2(8 * spex_draw_share(&made->draw));
    case SAWTOOTH:
        return 1e-4 * (point % 2 ? 4 : 1);
    case VEE:
        return 1e-4 * (0.2 + fabs(share - 0.5) * 4);
    default:
        return spex_model_value(&made->of->truth, x);
    }
}

static void add_row(struct made *made, const double *x, size_t point) {
    struct model_case *of = made->of;
    double time = time_at(made, x, point) * fmax(1 + of->noise * normal(&made->draw), 0.05);
    if (made->kind->design == WITH_OUTLIERS && spex_draw_below(&made->draw, OUTLIERS_IN) == 0)
        time *= 2 + 3 * spex_draw_share(&made->draw);
    memcpy(of->parameters + of->measured.count * of->parameter_count, x,
           of->parameter_count * sizeof(*x));
    of->times[of->measured.count++] = time;
}

static void add_stream(struct made *made) {
    double least = made->values[0][0], most = made->of->most[0];
    for (size_t r = 0; r < STREAM; r++) {
        double x = floor(least * pow(most / least, spex_draw_share(&made->draw)));
        add_row(made, &x, 0);
    }
}

/* All combinations, or all values of each with the others' first. */
static void add_points(struct made *made) {
    size_t at[3] = {0}, parameters = made->kind->parameters;
    for (bool more = true; more;) {
        double x[3];
        size_t away = 0;
        for (size_t p = 0; p < parameters; p++) {
            x[p] = made->values[p][at[p]];
            away += at[p] > 0;
        }
        /* Where none is the first or two are, a crossing design has but the corner that tells a
         * product from a sum. */
        bool corner = away == parameters;
        for (size_t p = 0; p < parameters; p++)
            corner = corner && at[p] == made->counts[p] - 1;
        for (size_t r = 0; r < REPEATS && (made->kind->design != CROSS || away < 2 || corner); r++)
            add_row(made, x, at[0]);
        more = false;
        for (size_t p = 0; p < parameters && !more; p++) {
            more = ++at[p] < made->counts[p];
            at[p] = more ? at[p] : 0;
        }
    }
}

void model_case_make(struct model_case *of, size_t kind, uint64_t seed) {
    static const double noises[] = {0, 0.02, 0.05, 0.1};
    struct made made = {
        .of = of, .kind = &kinds[kind], .draw = {spex_draw_mix(seed * 1000 + kind)}};
    size_t rows = STREAM > 125 * REPEATS ? STREAM : 125 * REPEATS;
    *of = (struct model_case){.name = made.kind->name,
                              .parameter_count = made.kind->parameters,
                              .noise = noises[seed % (made.kind->pattern == RARE ? 3 : 4)],
                              .parameters = calloc(rows * 3, sizeof(double)),
                              .times = calloc(rows, sizeof(double))};
    if (!of->parameters || !of->times)
        errx(1, "out of memory");
    for (size_t p = 0; p < of->parameter_count; p++)
        made.counts[p] =
            values_of(&made.draw, of->parameter_count,
                      made.kind->design == THREADS && p + 1 == of->parameter_count, made.values[p]);
    for (size_t v = 0; v < POINTS_MAX; v++)
        made.table[v] = 1e-5 * exp2(8 * spex_draw_share(&made.draw));
    make_truth(&made);
    make_class(&made);
    if (made.kind->design == STREAMED)
        add_stream(&made);
    else
        add_points(&made);
    of->measured.parameter_count = of->parameter_count;
    of->measured.parameters = of->parameters;
    of->measured.times = of->times;
}

void model_case_free(struct model_case *made) {
    free(made->parameters);
    free(made->times);
}

/* Which parameters there are, their largest exponents, and which are in one term. */
struct structure {
    struct spex_exponents most[SPEX_MODEL_PARAMETERS_MAX];
    bool together[SPEX_MODEL_PARAMETERS_MAX][SPEX_MODEL_PARAMETERS_MAX];
};

/* Of terms that make 1 % of the whole, at least, at the greatest values or, if they decrease, at
 * 1. */
static struct structure structure_of(const struct spex_model *model,
                                     const struct model_case *made) {
    struct structure structure = {0};
    double columns[SPEX_MODEL_COLUMNS_MAX], all = model->constant;
    spex_model_columns(model, made->most, columns);
    for (size_t t = 0; t < model->term_count; t++)
        for (size_t p = 0; p < model->parameter_count; p++)
            if (model->terms[t].factors[p].twelfths < 0)
                columns[t + 1] /=
                    spex_exponents_apply(model->terms[t].factors[p], made->most[p], 0);
    for (size_t t = 0; t < model->term_count; t++)
        all += model->terms[t].coefficient * columns[t + 1];
    for (size_t t = 0; t < model->term_count; t++) {
        const struct spex_model_term *term = &model->terms[t];
        if (term->coefficient * columns[t + 1] < 0.01 * all)
            continue;
        for (size_t p = 0; p < model->parameter_count; p++) {
            struct spex_exponents *most = &structure.most[p], of = term->factors[p];
            if ((spex_exponents_any(of) && !spex_exponents_any(*most)) ||
                of.twelfths > most->twelfths ||
                (of.twelfths == most->twelfths && of.log > most->log))
                *most = of;
            for (size_t q = 0; q < p; q++)
                structure.together[p][q] |=
                    spex_exponents_any(term->factors[p]) && spex_exponents_any(term->factors[q]);
        }
    }
    return structure;
}

static double effective(struct spex_exponents of, double most) {
    return of.twelfths / 12.0 + of.log / log(4 * most);
}

static double miss_beyond(const struct model_case *made, const struct spex_fit *fit) {
    double x[SPEX_MODEL_PARAMETERS_MAX];
    for (size_t p = 0; p < made->parameter_count; p++)
        x[p] = 4 * made->most[p];
    double truth = spex_model_value(&made->truth, x);
    return fabs(spex_model_value(&fit->model, x) / truth - 1);
}

struct model_verdict model_verdict_of(const struct model_case *made, const struct spex_fit *fit) {
    struct structure truth = structure_of(&made->truth, made),
                     found = structure_of(&fit->model, made);
    bool unknown = made->truth.class == SPEX_MODEL_UNKNOWN;
    struct model_verdict verdict = {.exact = true, .lead = true};
    verdict.class_right = fit->model.class == made->truth.class ||
                          (made->linear_too && fit->model.class == SPEX_MODEL_LINEAR);
    verdict.beyond = unknown ? 0 : miss_beyond(made, fit);
    if (memcmp(truth.together, found.together, sizeof(truth.together)) != 0)
        verdict.exact = verdict.lead = false;
    for (size_t p = 0; p < made->parameter_count; p++) {
        bool there = spex_exponents_any(truth.most[p]), here = spex_exponents_any(found.most[p]);
        double distance =
            effective(truth.most[p], made->most[p]) - effective(found.most[p], made->most[p]);
        verdict.exact =
            verdict.exact && memcmp(&truth.most[p], &found.most[p], sizeof(truth.most[p])) == 0;
        verdict.lead = verdict.lead && there == here && fabs(distance) <= 0.25;
    }
    return verdict;
}
