/* SPDX-License-Identifier: MIT */
/* Each probe has a row for its first value and one more for each further value. A polled probe has
 * rows for the share of time and the mean number of threads, below those of its records if there are
 * any. Functions named add_… fill cells from left to right. */
#include "profile/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/memory.h"
#include "base/terminal.h"
#include "profile/columns.h"
#include "profile/confidence.h"
#include "profile/figures.h"
#include "profile/table_notes.h"
#include "ring/probe_type.h"
#include "site/provider.h"
#include "text/characters.h"
#include "text/plain_numbers.h"
#include "text/quantity.h"

enum { QUANTILES = SPEX_FIGURES_QUANTILES, TEXT = 32, DIGITS = 3 };

/* The columns from left to right. The margin of a quantile follows it. */
enum {
    PROBE,
    TYPE,
    ONE_IN,
    COUNT,
    COUNT_MARGIN,
    RATE,
    VALUE,
    TOTAL,
    TOTAL_MARGIN,
    MEAN,
    MEAN_MARGIN,
    P50,
    P90 = P50 + 2,
    P99 = P90 + 2,
    P999 = P99 + 2,
    MAX = P999 + 2,
    LOST,
    OFF,
    COLUMNS
};

/* Margins have no heading. */
static const char *const headings[COLUMNS] = {
    "probe", "type", "1 in", "count", "",    "per s", "value", "total", "",    "mean", "",
    "p50",   "",     "p90",  "",      "p99", "",      "p99.9", "",      "max", "lost", "off"};

/* The most important column comes first. The margin of a total follows from those of the mean and the
 * count. */
static const uint8_t wanted[] = {TYPE, COUNT, VALUE, LOST, OFF, TOTAL, MEAN,        ONE_IN,
                                 P99,  P50,   RATE,  MAX,  P90, P999,  TOTAL_MARGIN};

/* Reasons for which something is not known: those of margins (confidence.h), and others. */
enum { FEW_LOOKS = SPEX_MARGIN_UNKNOWNS, WIDE, NOT_COUNTED, NO_NUMBER, REASONS };

struct sheet {
    struct spex_columns columns;
    const struct spex_profile *profile;
    bool mixed;
    unsigned margins;  /* the reason for which a margin of the values at hand is not known */
    uint32_t left_out; /* columns for which there is no room, and how wide they would be with it */
    size_t width;
    unsigned why[COLUMNS]; /* reasons for what is not known in a column, as bits */
};

/* The unit of a value. */
struct unit {
    bool time;
    double seconds; /* seconds of a tick; 0: not known yet */
};

/* The unit of the probe's values: seconds by the tick, or none. */
static struct unit unit_of(const struct spex_profile *profile,
                           const struct spex_profile_probe *probe) {
    double rate = profile->process.ticks_per_second;
    return (struct unit){.time = spex_probe_type_ticks(probe->probe_type),
                         .seconds = rate > 0 ? 1 / rate : 0};
}

/* Adds `count` cells with the same text. */
static void add_cells(struct sheet *sheet, const char *text, unsigned count) {
    for (unsigned c = 0; c < count; c++)
        spex_columns_add(&sheet->columns, "%s", text);
}

/* Adds a cell that says that something is not known. */
static void add_unknown(struct sheet *sheet, const char *text, unsigned why) {
    sheet->why[sheet->columns.count % COLUMNS] |= 1u << why;
    add_cells(sheet, text, 1);
}

/* Adds a measured number. A number with a unit keeps zeros at its end. */
static void add_number(struct sheet *sheet, double number, const char *unit) {
    char text[TEXT];
    bool zeros = *unit && fabs(number) < 999;
    add_cells(sheet, spex_quantity_digits(number, DIGITS, zeros, unit, text, sizeof(text)), 1);
}

/* Adds a value: as a duration if it is a time, "-" while the length of a tick is not known. */
static void add_value(struct sheet *sheet, double value, struct unit unit) {
    if (!isfinite(value) || (unit.time && !(unit.seconds > 0)))
        add_cells(sheet, "-", 1);
    else
        add_number(sheet, unit.time ? value * unit.seconds : value, unit.time ? "s" : "");
}

/* Adds a margin as a percentage of the figure before it; nothing where the figure is exact. A margin
 * that is larger than its figure is not told. */
static void add_margin(struct sheet *sheet, double margin, double value) {
    char text[TEXT];
    value = fabs(value);
    if (!(margin >= 0) || isnan(value))
        add_unknown(sheet, "±?", sheet->margins);
    else if (margin > value)
        add_unknown(sheet, "±?", WIDE);
    else if (margin > 0)
        spex_columns_add(&sheet->columns, "±%s",
                         spex_percent_text(margin / value, 2, text, sizeof(text)));
    else
        add_cells(sheet, "", 1);
}

/* The distance from the quantile to the more distant end of its interval; negative: not known. */
static double quantile_margin(const struct spex_quantile *quantile) {
    return quantile->told ? fmax(quantile->high - quantile->value, quantile->value - quantile->low)
                          : -1;
}

/* Whether the mean is off by over 1 %, be it only because of what a span of nothing reads. */
static bool is_off_by_the_clock(const struct spex_figures *figures) {
    return figures->mean_margin > 0.01 * fabs(figures->mean);
}

/* Adds the total: the mean times the number of all executions, recorded or not. */
static void add_total(struct sheet *sheet, const struct spex_profile_probe *probe,
                      const struct spex_figures *figures, struct unit unit) {
    if (!isnan(figures->total))
        add_value(sheet, figures->total, unit);
    else if (!spex_count_known(probe))
        add_unknown(sheet, "?", NOT_COUNTED);
    else if (figures->left_out)
        add_unknown(sheet, "?", NO_NUMBER);
    else
        add_unknown(sheet, "?", figures->mean_margin >= 0 ? WIDE : sheet->margins);
}

/* Adds the cells of a value: name, total, mean, quantiles and maximum, with margins where they
 * matter. */
static void add_values(struct sheet *sheet, const struct spex_profile_probe *probe,
                       const char *name, const struct spex_figures *figures) {
    struct unit unit = unit_of(sheet->profile, probe);
    bool unsure = figures->sampled || is_off_by_the_clock(figures);
    add_cells(sheet, name, 1);
    add_total(sheet, probe, figures, unit);
    if (isnan(figures->total))
        add_cells(sheet, "", 1);
    else
        add_margin(sheet, unsure ? figures->total_margin : 0, figures->total);
    add_value(sheet, figures->mean, unit);
    add_margin(sheet, unsure ? figures->mean_margin : 0, figures->mean);
    for (unsigned q = 0; q < QUANTILES; q++) {
        add_value(sheet, figures->quantiles[q].value, unit);
        add_margin(sheet, unsure ? quantile_margin(&figures->quantiles[q]) : 0,
                   figures->quantiles[q].value);
    }
    add_value(sheet, figures->max, unit);
}

/* Adds the cells of a probe or value without figures. */
static void add_no_values(struct sheet *sheet) {
    for (unsigned column = VALUE; column < LOST; column++)
        add_cells(sheet, sheet->columns.beside & 1u << column ? "" : "-", 1);
}

/* Adds the number of lost records; "~": it is estimated, as the probe's share of its type's
 * losses. */
static void add_losses(struct sheet *sheet, const struct spex_profile_probe *probe) {
    spex_columns_add(&sheet->columns, "%s%.0f", probe->lost_shared ? "~" : "",
                     probe->lost > 0 ? probe->lost : 0);
}

/* Adds the share of the time for which the budget held the probe off, where it did. */
static void add_off(struct sheet *sheet, const struct spex_profile_probe *probe) {
    char text[TEXT];
    if (spex_profile_off(probe) > 0)
        add_cells(sheet, spex_percent_text(spex_profile_off(probe), DIGITS, text, sizeof(text)), 1);
    else
        spex_columns_end_row(&sheet->columns);
}

/* Adds what it is at least: what was counted, or what slices tell. */
static void add_bound(struct sheet *sheet, double least, bool told) {
    char text[TEXT];
    if (told)
        spex_quantity_digits(least, DIGITS, false, "", text, sizeof(text));
    else
        snprintf(text, sizeof(text), "%.0f", least);
    spex_columns_add(&sheet->columns, "≥%s", text);
}

/* Adds the count with its margin; "-" where the probe was always polled, which counts nothing. A count
 * without a margin is exact. Where the margin is larger than the count, "≥" and what it is at least. */
static void add_count(struct sheet *sheet, const struct spex_profile_probe *probe) {
    double count = spex_profile_executions(probe), margin = spex_count_margin(probe);
    bool counted = spex_profile_counted(probe), known = spex_count_known(probe);
    if (!counted)
        add_cells(sheet, "-", 1);
    else if (!known)
        add_bound(sheet, spex_count_told(probe), spex_profile_held_is_bound(probe));
    else if (margin > 0)
        add_number(sheet, count, "");
    else
        spex_columns_add(&sheet->columns, "%.0f", count);
    if (counted && known && count > 0)
        add_margin(sheet, margin, count);
    else
        add_cells(sheet, "", 1);
}

static void add_rate(struct sheet *sheet, const struct spex_profile_probe *probe) {
    if (spex_profile_counted_seconds(probe) <= 0)
        add_cells(sheet, "-", 1);
    else if (spex_rate_is_bound(probe))
        add_bound(sheet, spex_rate_told(probe), true);
    else if (!spex_rate_known(probe))
        add_unknown(sheet, "?", NOT_COUNTED);
    else
        add_number(sheet, spex_profile_rate(probe), "");
}

/* Adds the period, or the mean weight of the probe's records: from 10 on as a whole number. */
static void add_one_in(struct sheet *sheet, const struct spex_profile_probe *probe) {
    double one_in = probe->records ? spex_profile_per_record(probe) : probe->period_last;
    bool whole = one_in >= 10 || one_in <= floor(one_in);
    if (spex_profile_polled(probe))
        add_cells(sheet, "polled", 1);
    else
        spex_columns_add(&sheet->columns, "%.*f", whole ? 0 : 2, one_in);
}

/* Adds the cells of the probe: name, type, period, count and rate. */
static void add_head(struct sheet *sheet, const struct spex_profile_probe *probe) {
    char name[SPEX_PROBE_TEXT_BYTES];
    add_cells(sheet, spex_probe_text(probe, sheet->mixed, name, sizeof(name)), 1);
    add_cells(sheet, spex_probe_type_name(probe->probe_type), 1);
    add_one_in(sheet, probe);
    add_count(sheet, probe);
    add_rate(sheet, probe);
}

/* Adds the cells of a polled probe's figure: the corresponding time, and a mean with its margin. The
 * margin has the unit of the mean. */
static void add_looked(struct sheet *sheet, const char *name, double mean, double margin,
                       const char *unit, double seconds) {
    add_cells(sheet, name, 1);
    if (seconds > 0)
        add_number(sheet, seconds, "s");
    else
        add_cells(sheet, "-", 1);
    add_cells(sheet, "", 1);
    spex_columns_add(&sheet->columns, "%.3g%s", mean, unit);
    if (margin >= 0 && margin <= mean)
        spex_columns_add(&sheet->columns, "±%.2g%s", margin, unit);
    else
        add_unknown(sheet, "±?", FEW_LOOKS);
    add_cells(sheet, "", LOST - P50);
}

/* Adds the share of time in which at least one thread executed the polled probe. */
static void add_active(struct sheet *sheet, const struct spex_profile_probe *probe) {
    double share = spex_occupancy_share(&probe->activity);
    double margin = spex_occupancy_share_margin(&probe->activity);
    add_looked(sheet, "active", 100 * share, 100 * margin, " %", share * probe->polled_seconds);
}

/* Adds the mean number of threads, unless it equals the share, as there was never more than one. */
static void add_threads(struct sheet *sheet, const struct spex_profile_probe *probe) {
    const struct spex_occupancy *activity = &probe->activity;
    double threads = spex_occupancy_threads(activity);
    if (activity->threads == activity->active)
        return;
    add_cells(sheet, "", VALUE);
    add_looked(sheet, "threads", threads, spex_occupancy_threads_margin(activity), "",
               threads * probe->polled_seconds);
    spex_columns_end_row(&sheet->columns);
}

/* Adds the rows of a polled probe that are not its first row. */
static void add_activity(struct sheet *sheet, const struct spex_profile_probe *probe) {
    if (!probe->activity.looks)
        return;
    if (probe->series) { /* else it stands in the first row */
        add_cells(sheet, "", VALUE);
        add_active(sheet, probe);
        spex_columns_end_row(&sheet->columns);
    }
    add_threads(sheet, probe);
}

/* Of a value's name in the table: a snapshot may have long expressions. */
enum { VALUE_NAME_MOST = 25 };

/* Adds the cells of a series of values. */
static void add_series(struct sheet *sheet, const struct spex_profile_row *row, const char *names,
                       unsigned series) {
    char buffer[SPEX_PROFILE_FILE_BYTES];
    struct spex_figures figures;
    spex_figures_of(sheet->profile, row, series, &figures);
    if (!figures.any) {
        add_no_values(sheet);
        return;
    }
    sheet->margins = spex_margin_unknown(&row->probe, row->values[series]);
    const char *name = spex_profile_value_name(names, row->probe.probe_type, series, buffer);
    if (name == buffer)
        spex_characters_cut(buffer, VALUE_NAME_MOST);
    add_values(sheet, &row->probe, name, &figures);
}

/* Adds a row for each further value that has figures. */
static void add_further(struct sheet *sheet, const struct spex_profile_row *row,
                        const char *names) {
    struct spex_figures figures;
    for (unsigned s = 1; s < row->probe.series; s++) {
        spex_figures_of(sheet->profile, row, s, &figures);
        if (!figures.any)
            continue;
        add_cells(sheet, "", VALUE);
        add_series(sheet, row, names, s);
        spex_columns_end_row(&sheet->columns);
    }
}

/* Adds all rows of a probe. */
static void add_row(struct sheet *sheet, const struct spex_profile_row *row) {
    const struct spex_profile_probe *probe = &row->probe;
    const char *names = spex_profile_value_names(sheet->profile, probe);
    add_head(sheet, probe);
    if (probe->series)
        add_series(sheet, row, names, 0);
    else if (probe->activity.looks)
        add_active(sheet, probe);
    else
        add_no_values(sheet);
    add_losses(sheet, probe);
    add_off(sheet, probe);
    add_further(sheet, row, names);
    add_activity(sheet, probe);
}

/* The keys by which rows are sorted. */
struct place {
    const struct spex_profile_row *row;
    double time, cost, count;
};

/* Where the total is not known, the time is an estimate. */
static struct place place_of(const struct spex_profile *profile,
                             const struct spex_profile_row *row) {
    const struct spex_profile_probe *probe = &row->probe;
    struct unit unit = unit_of(profile, probe);
    struct spex_figures figures;
    struct place place = {.row = row,
                          .time = spex_occupancy_threads(&probe->activity) * probe->polled_seconds,
                          .cost = spex_profile_row_cost(profile, probe),
                          .count = spex_profile_executions(probe)};
    if (!unit.time || !probe->series)
        return place;
    spex_figures_of(profile, row, 0, &figures);
    double total = isnan(figures.total) ? figures.mean * spex_profile_ended(probe) : figures.total;
    place.time = fmax(place.time, total * unit.seconds);
    return place;
}

/* For qsort. Equal rows keep their order. */
static int costliest_first(const void *a, const void *b) {
    const struct place *one = a, *other = b;
    if (one->time > other->time || one->time < other->time)
        return one->time > other->time ? -1 : 1;
    if (one->cost > other->cost || one->cost < other->cost)
        return one->cost > other->cost ? -1 : 1;
    if (one->count > other->count || one->count < other->count)
        return one->count > other->count ? -1 : 1;
    return (one->row > other->row) - (one->row < other->row);
}

/* Without memory rows are not sorted. */
static void add_rows(struct sheet *sheet) {
    const struct spex_profile *profile = sheet->profile;
    struct place *places = spex_malloc((profile->row_count + 1) * sizeof(*places));
    for (size_t r = 0; places && r < profile->row_count; r++)
        places[r] = place_of(profile, &profile->rows[r]);
    if (places)
        spex_sort(places, profile->row_count, sizeof(*places), costliest_first);
    for (size_t r = 0; r < profile->row_count; r++)
        add_row(sheet, places ? places[r].row : &profile->rows[r]);
    spex_free(places);
}

/* Hides columns that have the usual text in each row. */
static void hide_plain(struct spex_columns *columns) {
    static const char *const plain[COLUMNS] = {[ONE_IN] = "1", [VALUE] = "time", [LOST] = "0"};
    for (unsigned c = ONE_IN; c < COLUMNS; c++)
        spex_columns_hide_plain(columns, c, plain[c] ? plain[c] : "");
}

/* The reasons for what the shown columns do not know. */
static unsigned reasons_shown(const struct sheet *sheet) {
    unsigned why = 0;
    for (unsigned c = 0; c < COLUMNS; c++)
        why |= sheet->columns.hidden & 1u << c ? 0 : sheet->why[c];
    return why;
}

static void print_reasons(FILE *file, unsigned why) {
    static const char *const texts[REASONS] = {
        [SPEX_FEW_RECORDS] = "too few records to tell",
        [SPEX_FEW_STRETCHES] = "the records are of too few moments to tell",
        [SPEX_MOST_LOST] = "the records of most executions are lost",
        [SPEX_MANY_LEFT_OUT] = "more than a tenth of the records are left out of times",
        [SPEX_LONG_SPANS_MISSING] = "long spans have no record, as the budget held the probe off",
        [FEW_LOOKS] = "too few looks to tell",
        [WIDE] = "the margin is larger than the figure",
        [NOT_COUNTED] = "only a part of the executions was counted (≥)",
        [NO_NUMBER] = "some values are infinite or no number"};
    const char *between = "?: ";
    for (unsigned r = 0; r < REASONS; r++)
        if (why & 1u << r) {
            fprintf(file, "%s%s", between, texts[r]);
            between = "; ";
        }
    if (why)
        fputc('\n', file);
}

/* Prints which columns there is no room for, but for those that only a wide table has. */
static void print_left_out(FILE *file, const struct sheet *sheet) {
    const char *between = "no room for ";
    for (unsigned c = 0; c < COLUMNS; c++)
        if (sheet->left_out & 1u << c && headings[c][0]) {
            fprintf(file, "%s%s", between, headings[c]);
            between = ", ";
        }
    if (*between == ',')
        fprintf(file, ": a width of %zu is needed\n", sheet->width);
}

/* Prints what became of the records, so that produced = consumed + lost can be seen. An interval may
 * have records in the rings at its end, or at its begin. */
static void print_accounts(FILE *file, const struct spex_profile_process *process, bool counts) {
    fprintf(file, "%.3f s", process->seconds);
    if (counts) {
        fputc('\n', file);
        return;
    }
    fprintf(file, "; records: %" PRIu64 " produced, %" PRIu64 " consumed, %" PRIu64 " lost",
            process->produced, process->consumed, process->lost);
    uint64_t gone = process->consumed + process->lost;
    if (process->produced > gone)
        fprintf(file, ", %" PRIu64 " still in rings", process->produced - gone);
    if (process->produced < gone)
        fprintf(file, ", %" PRIu64 " of them from before", gone - process->produced);
    if (process->undelivered)
        fprintf(file, ", %" PRIu64 " consumed but not in this table", process->undelivered);
    if (process->unrecorded)
        fprintf(file, ", %" PRIu64 " not made for want of room", process->unrecorded);
    fputc('\n', file);
}

/* Prints the lines below the rows. */
static void print_lines(FILE *file, const struct sheet *sheet, unsigned why,
                        struct spex_table_look look) {
    const struct spex_profile *profile = sheet->profile;
    print_accounts(file, &profile->process, look.counts);
    print_left_out(file, sheet);
    print_reasons(file, why);
    spex_table_notes(file, profile, look.verbose);
}

/* Without memory the lines are not wrapped. */
static void print_below(FILE *file, const struct sheet *sheet, unsigned why,
                        struct spex_table_look look) {
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    print_lines(memory ? memory : file, sheet, why, look);
    if (memory && fclose(memory) == 0)
        spex_print_wrapped(file, text, look.width);
    spex_free(text);
}

void spex_table_print(FILE *file, const struct spex_profile *profile, struct spex_table_look look) {
    SPEX_PLAIN_NUMBERS;
    struct sheet sheet = {.profile = profile, .mixed = spex_profile_rows_mixed(profile)};
    if (!profile->row_count) {
        fputs("no probe was on\n", file);
        print_below(file, &sheet, 0, look);
        return;
    }
    spex_columns_init(&sheet.columns, headings, COLUMNS, 1u << PROBE | 1u << TYPE);
    for (unsigned c = 0; c < COLUMNS; c++)
        if (!headings[c][0])
            sheet.columns.beside |= 1u << c;
    sheet.columns.left |= sheet.columns.beside;
    add_rows(&sheet);
    hide_plain(&sheet.columns);
    spex_columns_fit(&sheet.columns, look.width, wanted, sizeof(wanted));
    unsigned why = reasons_shown(&sheet);
    sheet.left_out = sheet.columns.crowded & ~(1u << P90 | 1u << P999);
    sheet.width = spex_columns_width(&sheet.columns, sheet.left_out);
    spex_columns_print(&sheet.columns, file);
    print_below(file, &sheet, why, look);
}

struct spex_table_look spex_table_look(FILE *file, bool verbose) {
    return (struct spex_table_look){.width = spex_terminal_width(file, spex_text_width()),
                                    .verbose = verbose};
}
