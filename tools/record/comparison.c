/* SPDX-License-Identifier: MIT */
/* Ratios by explore/findings' change: differences of logarithms and Student's t. The degrees of
 * freedom of a difference are Satterthwaite's. */
#include "tools/record/comparison.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/student.h"
#include "explore/findings/change.h"
#include "profile/columns.h"
#include "profile/confidence.h"
#include "profile/table.h"
#include "ring/probe_type.h"
#include "text/quantity.h"
#include "tools/common/json.h"

/* A figure of both sides. */
struct compared {
    const char *name;
    const char *unit;
    struct spex_slices_estimate a, b;
    struct spex_change change;
    /* The probability of a difference as great by chance; NaN: not known. */
    double chance;
};

enum { FIGURES = 3 };

/* What is done with a pair of probes; 0 or a negative errno value. */
typedef int pair_function(void *user, const char *program, const char *probe, const char *type,
                          const struct compared figures[FIGURES]);

/* Welch's and Satterthwaite's degrees of freedom of the difference of logarithms. */
static double freedom_of(const struct spex_slices_estimate *a,
                         const struct spex_slices_estimate *b) {
    double x = pow(a->error / a->value, 2), y = pow(b->error / b->value, 2);
    double freedom = (x + y) * (x + y) / (x * x / a->freedom + y * y / b->freedom);
    return freedom >= 1 ? freedom : 1;
}

/* The two-sided probability of a value of Student's variable, by bisection of its inverse. */
static double chance_of(double t, double freedom) {
    double low = 0, high = 1;
    for (int round = 0; round < 50; round++) {
        double middle = (low + high) / 2;
        if (spex_student_two_sided(middle, freedom) > t)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

/* Without any error (both sides are constant) a difference is certain, and equality, too. */
static struct compared compare(const char *name, const char *unit,
                               const struct spex_slices_estimate *a,
                               const struct spex_slices_estimate *b) {
    struct compared compared = {.name = name, .unit = unit, .a = *a, .b = *b, .chance = NAN};
    bool both = a->value > 0 && b->value > 0;
    double error = both ? hypot(a->error / a->value, b->error / b->value) : NAN;
    compared.change = (struct spex_change){.value = NAN, .low = NAN, .high = NAN};
    if (!both)
        return compared;
    double freedom = error > 0 ? freedom_of(a, b) : 1;
    compared.change = spex_change_by(a->value, a->error, b->value, b->error, freedom);
    if (error > 0)
        compared.chance = chance_of(fabs(log(b->value / a->value)) / error, freedom);
    else if (error <= 0)
        compared.chance = fabs(log(b->value / a->value)) > 0 ? 0 : 1;
    return compared;
}

/* A probe's row; NULL: there is none. */
static const struct spex_profile_probe *row_of(const struct spex_profile *profile,
                                               uint16_t probe_id, uint32_t type) {
    for (size_t r = 0; r < profile->row_count; r++)
        if (profile->rows[r].probe.probe_id == probe_id &&
            profile->rows[r].probe.probe_type == type)
            return &profile->rows[r].probe;
    return NULL;
}

/* Takes the rate from the process's profile. Its error is that of the executions that the profile
 * estimates, and the spread over the slices, which is told by the records' weights. Where the
 * profile knows no more than that there were so many executions or more, there is no rate. */
static void rate_refine(const struct spex_stats_side *side, size_t process, uint16_t probe_id,
                        uint32_t type, struct spex_slices_figures *figures) {
    const struct spex_profile_probe *row =
        row_of(spex_part_profile(side->part, process), probe_id, type);
    struct spex_slices_estimate *rate = &figures->rate;
    if (!row || !(row->count > 0) || !(rate->value > 0))
        return;
    double executions = spex_profile_executions(row), margin = spex_count_margin(row);
    double value = executions / spex_slices_seconds(side->slices);
    double error = margin / SPEX_NORMAL_95 / executions;
    *rate =
        margin < executions
            ? (struct spex_slices_estimate){value, value * hypot(rate->error / rate->value, error),
                                            rate->freedom}
            : (struct spex_slices_estimate){NAN, NAN, rate->freedom};
}

/* The figures of a probe; false: it has no records. */
static bool figures_of(const struct spex_stats_side *side, size_t process, uint16_t probe_id,
                       uint32_t type, struct spex_slices_figures *figures) {
    if (!spex_slices_figures(side->slices, process, probe_id, type, figures))
        return false;
    rate_refine(side, process, probe_id, type, figures);
    return true;
}

/* The same probe of the other trace: of the program with this name. */
static bool counterpart(const struct spex_stats_side *side, const char *program, const char *probe,
                        uint32_t type, struct spex_slices_figures *figures) {
    char text[2 * SPEX_STREAM_TEXT_BYTES + 2];
    for (size_t p = 0; p < side->trace->process_count; p++) {
        const struct spex_recording_process *process = &side->trace->processes[p];
        if (strcmp(process->program, program) != 0)
            continue;
        for (size_t c = 0; c < process->journal.class_count; c++) {
            const struct spex_recording_class *class = &process->journal.classes[c];
            if (!class->known || class->probe_type != type ||
                strcmp(spex_recording_probe_text(process, class, text, sizeof(text)), probe) != 0)
                continue;
            if (figures_of(side, p, class->probe_id, type, figures))
                return true;
        }
    }
    return false;
}

/* Whether an earlier class of the process is of the same probe, with another number of values. */
static bool seen_before(const struct spex_journal *journal, size_t class) {
    for (size_t c = 0; c < class; c++)
        if (journal->classes[c].known &&
            journal->classes[c].probe_id == journal->classes[class].probe_id &&
            journal->classes[c].probe_type == journal->classes[class].probe_type)
            return true;
    return false;
}

static int pair_compare(const struct spex_stats_side *a, const struct spex_stats_side *b, size_t p,
                        size_t c, pair_function *found, void *user) {
    const struct spex_recording_process *process = &a->trace->processes[p];
    const struct spex_recording_class *class = &process->journal.classes[c];
    struct spex_slices_figures one, other;
    char text[2 * SPEX_STREAM_TEXT_BYTES + 2];
    if (!class->known || !class->wanted || seen_before(&process->journal, c) ||
        !figures_of(a, p, class->probe_id, class->probe_type, &one))
        return 0;
    spex_recording_probe_text(process, class, text, sizeof(text));
    if (!counterpart(b, process->program, text, class->probe_type, &other))
        return 0;
    bool ticks = spex_probe_type_ticks(class->probe_type);
    const struct compared figures[FIGURES] = {
        compare("rate", "/s", &one.rate, &other.rate),
        compare("mean", ticks ? "s" : "", &one.mean, &other.mean),
        compare("median", ticks ? "s" : "", &one.median, &other.median)};
    return found(user, process->program, text, spex_probe_type_name(class->probe_type), figures);
}

static int pairs_compare(const struct spex_stats_side *a, const struct spex_stats_side *b,
                         pair_function *found, void *user) {
    int err = 0;
    for (size_t p = 0; !err && p < a->trace->process_count; p++)
        for (size_t c = 0; !err && c < a->trace->processes[p].journal.class_count; c++)
            err = pair_compare(a, b, p, c, found, user);
    return err;
}

/* An interval that reaches farther than this factor says nothing. */
#define FACTOR_TOLD 10

/* "x 1.25 (1.21 to 1.29)"; "x 1.25 (?)" where the interval says nothing. */
static void ratio_cell(struct spex_columns *columns, const struct compared *figure) {
    const struct spex_change *change = &figure->change;
    if (isnan(change->value))
        spex_columns_add(columns, "-");
    else if (change->known && !(change->high <= change->value * FACTOR_TOLD))
        spex_columns_add(columns, "x %.3f (?)", change->value);
    else if (change->known)
        spex_columns_add(columns, "x %.3f (%.3f to %.3f)", change->value, change->low,
                         change->high);
    else
        spex_columns_add(columns, "x %.3f", change->value);
}

static void chance_cell(struct spex_columns *columns, double chance) {
    if (isnan(chance))
        spex_columns_add(columns, "-");
    else if (chance < 0.0001)
        spex_columns_add(columns, "< 0.01 %%");
    else
        spex_columns_add(columns, chance < 0.1 ? "%.2g %%" : "%.0f %%", chance * 100);
}

static int row_add(void *user, const char *program, const char *probe, const char *type,
                   const struct compared figures[FIGURES]) {
    struct spex_columns *columns = user;
    char text[64];
    (void)program;
    for (unsigned f = 0; f < FIGURES; f++) {
        if (f && isnan(figures[f].a.value) && isnan(figures[f].b.value))
            continue;
        spex_columns_add(columns, "%s", f ? "" : probe);
        spex_columns_add(columns, "%s", f ? "" : type);
        spex_columns_add(columns, "%s", figures[f].name);
        spex_columns_add(
            columns, "%s",
            spex_quantity_text(figures[f].a.value, NAN, figures[f].unit, text, sizeof(text)));
        spex_columns_add(
            columns, "%s",
            spex_quantity_text(figures[f].b.value, NAN, figures[f].unit, text, sizeof(text)));
        ratio_cell(columns, &figures[f]);
        chance_cell(columns, figures[f].chance);
        spex_columns_end_row(columns);
    }
    return 0;
}

int spex_stats_comparison_print(FILE *out, const struct spex_stats_side *a,
                                const struct spex_stats_side *b) {
    static const char *const headings[] = {"probe",  "type",           "figure",   "first",
                                           "second", "second : first", "by chance"};
    struct spex_columns columns;
    spex_columns_init(&columns, headings, 7, 1 | 1 << 1 | 1 << 2 | 1 << 5);
    int err = pairs_compare(a, b, row_add, &columns);
    bool any = columns.count > 7;
    if (!err)
        err = columns.error;
    static const uint8_t order[] = {6, 1};
    spex_columns_print_within(&columns, out,
                              &(struct spex_columns_room){.texts = 1, .order = order, .count = 2});
    if (any)
        fputs("second : first: the ratio and its 95 % interval, by the spread over 20 slices of "
              "each part;\n?: the slices differ too much for one\nby chance: how often a "
              "difference as great is found where there is "
              "none\n",
              out);
    else
        fputs("no probe has records in both\n", out);
    if (any && a->trace != b->trace)
        fputs("two runs also differ by what the machine did meanwhile: of that only the spread "
              "within each is known\n",
              out);
    return err;
}

static json_t *number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *figure_json(const struct compared *figure) {
    bool known = figure->change.known;
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "figure", figure->name, "first",
                     number(figure->a.value), "second", number(figure->b.value), "ratio",
                     number(figure->change.value), "ratio_low",
                     number(known ? figure->change.low : NAN), "ratio_high",
                     number(known ? figure->change.high : NAN), "chance", number(figure->chance));
}

static int object_add(void *user, const char *program, const char *probe, const char *type,
                      const struct compared figures[FIGURES]) {
    json_t *list = json_array();
    for (unsigned f = 0; f < FIGURES; f++)
        json_array_append_new(list, figure_json(&figures[f]));
    return json_array_append_new(
               user, json_pack("{s:o, s:o, s:s, s:o}", "program", spex_text_json(program), "probe",
                               spex_text_json(probe), "type", type, "figures", list))
               ? -ENOMEM
               : 0;
}

json_t *spex_stats_comparison_json(const struct spex_stats_side *a,
                                   const struct spex_stats_side *b) {
    json_t *list = json_array();
    int err = list ? pairs_compare(a, b, object_add, list) : -ENOMEM;
    return spex_json_unless(err != 0, list);
}
