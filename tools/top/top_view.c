/* SPDX-License-Identifier: MIT */
/* The rows of the table. A row is a probe: its sites in the profile are merged into it, whether
 * they are on or off. `rows` is sorted by id and type, so that figures find their row by
 * bsearch; `shown` has the indices of rows in the order of the table. */
#define _GNU_SOURCE
#include "tools/top/top_view.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/site.h>

#include "profile/columns.h"
#include "profile/confidence.h"
#include "profile/figures.h"
#include "profile/table.h"
#include "ring/probe_type.h"
#include "text/quantity.h"

static const struct {
    const char *heading;
    bool text;
} column_table[SPEX_TOP_COLUMNS] = {
    {"1 in", false},  {"probe", true}, {"id", false},   {"type", true}, {"rate/s", false},
    {"value", true},  {"mean", false}, {"p50", false},  {"p99", false}, {"max", false},
    {"share", false}, {"off", false},  {"lost", false},
};

const char *spex_top_heading(enum spex_top_column column) {
    return column_table[column].heading;
}

bool spex_top_column_is_text(enum spex_top_column column) {
    return column_table[column].text;
}

bool spex_top_delay(const char *text, double *seconds) {
    char *end;
    *seconds = strtod(text, &end);
    return end != text && *end == '\0' && *seconds >= 0.05 && *seconds <= 3600;
}

void spex_top_view_free(struct spex_top_view *view) {
    free(view->rows);
    free(view->shown);
    view->rows = NULL;
    view->shown = NULL;
    view->row_count = view->shown_count = 0;
}

/* The order of two numbers, as qsort has it. */
static int number_order(uint64_t one, uint64_t other) {
    return (one > other) - (one < other);
}

/* The order of `rows`: by id and then type. */
static int order_by_probe(const void *a, const void *b) {
    const struct spex_top_row *one = a, *other = b;
    int order = number_order(one->number, other->number);
    return order ? order : number_order(one->type, other->type);
}

/* Whether the site is polled instead of recorded. */
static bool site_is_polled(const struct spex_profile_site *site) {
    return site->loaded && site->period && site->kind == SPEX_SAMPLING_POLLING;
}

/* A row for one site. Sites whose library was unloaded count neither as sites nor as on. */
static void row_fill_from_site(struct spex_top_row *row, const struct spex_profile_site *site,
                               bool mixed) {
    const char *provider = mixed ? site->provider : NULL;
    int32_t id = spex_profile_id(site->probe_id, site->declared);
    *row = (struct spex_top_row){.type = site->probe_type,
                                 .number = site->probe_id,
                                 .id = id,
                                 .sites = site->loaded != 0,
                                 .sites_on = site->loaded && site->period,
                                 .period = site_is_polled(site) || !site->loaded ? 0 : site->period,
                                 .polled = site_is_polled(site),
                                 .kind = site->kind,
                                 .burst = site->burst,
                                 .subsample = site->subsample};
    spex_probe_called(provider, site->name, id, row->name, sizeof(row->name));
    spex_probe_selector(provider, site->name, id, row->chosen, sizeof(row->chosen));
}

/* Adds the sites of another row of the same probe. The row has the shortest period of those
 * that are on. */
static void row_merge(struct spex_top_row *row, const struct spex_top_row *other) {
    if (other->period && (!row->period || other->period < row->period)) {
        row->period = other->period;
        row->kind = other->kind;
        row->burst = other->burst;
    }
    if (other->subsample < row->subsample)
        row->subsample = other->subsample;
    row->sites += other->sites;
    row->sites_on += other->sites_on;
    row->polled += other->polled;
}

/* Sorts the rows, and merges those of the same probe. Returns how many are left. */
static size_t merge_rows(struct spex_top_row *rows, size_t count) {
    size_t merged = 0;
    qsort(rows, count, sizeof(*rows), order_by_probe);
    for (size_t r = 0; r < count; r++)
        if (merged && order_by_probe(&rows[merged - 1], &rows[r]) == 0)
            row_merge(&rows[merged - 1], &rows[r]);
        else
            rows[merged++] = rows[r];
    return merged;
}

/* A counter has no values. */
static void row_name_value(struct spex_top_row *row, const struct spex_profile *profile) {
    const struct spex_profile_probe probe = {.probe_id = row->number, .probe_type = row->type};
    const char *names = spex_profile_value_names(profile, &probe);
    char name[SPEX_PROFILE_FILE_BYTES];
    if (row->type != SPEX_CNT)
        snprintf(row->value, sizeof(row->value), "%s",
                 spex_profile_value_name(names, row->type, 0, name));
}

/* Figures of the first value. Times are ticks of the program's clock; without its rate they are
 * unknown. */
static void figures_fill_values(struct spex_top_figures *figures,
                                const struct spex_profile *profile,
                                const struct spex_profile_row *row) {
    struct spex_figures told;
    double rate = profile->process.ticks_per_second, scale = 1;
    bool ticks = spex_probe_type_ticks(row->probe.probe_type);
    if (row->probe.series == 0 || (ticks && rate <= 0))
        return;
    spex_figures_of(profile, row, 0, &told);
    if (!told.any)
        return;
    if (ticks)
        scale = 1 / rate;
    figures->has_values = true;
    figures->mean = told.mean * scale;
    figures->p50 = told.quantiles[SPEX_FIGURES_P50].value * scale;
    figures->p99 = told.quantiles[SPEX_FIGURES_P99].value * scale;
    figures->max = told.max * scale;
    figures->has_share = ticks && !isnan(told.total);
    if (figures->has_share && profile->process.seconds > 0)
        figures->share = told.total * scale / profile->process.seconds;
}

/* Adds the seconds within the probe while it was polled to those of its records. */
static void figures_fill_activity(struct spex_top_figures *figures,
                                  const struct spex_profile *profile,
                                  const struct spex_profile_probe *probe) {
    double seconds = spex_occupancy_threads(&probe->activity) * probe->polled_seconds;
    if (!probe->activity.looks || profile->process.seconds <= 0)
        return;
    figures->has_share = true;
    figures->share += seconds / profile->process.seconds;
}

/* An execution that ends within the span may have begun before it, and is in the sum with all its
 * time. */
static void figures_limit_share(struct spex_top_figures *figures,
                                const struct spex_profile *profile, uint32_t type) {
    double threads = profile->process.threads;
    if (type != SPEX_SPAN && threads > 0 && figures->share > threads)
        figures->share = threads;
}

/* `profile` may be NULL: there are no figures of that span yet. */
static void view_fill_figures(struct spex_top_view *view, enum spex_top_span span,
                              const struct spex_profile *profile) {
    for (size_t r = 0; profile && r < profile->row_count; r++) {
        const struct spex_profile_probe *probe = &profile->rows[r].probe;
        struct spex_top_row key = {.number = probe->probe_id, .type = probe->probe_type};
        struct spex_top_row *row =
            bsearch(&key, view->rows, view->row_count, sizeof(key), order_by_probe);
        if (!row)
            continue;
        struct spex_top_figures *figures = &row->figures[span];
        figures->rate_at_least = spex_rate_is_bound(probe);
        figures->has_rate = spex_rate_known(probe) || figures->rate_at_least;
        figures->rate = spex_rate_told(probe);
        figures->lost = probe->lost;
        figures->off = spex_profile_off(probe);
        figures->lost_shared = probe->lost > 0 && probe->lost_shared;
        figures_fill_values(figures, profile, &profile->rows[r]);
        figures_fill_activity(figures, profile, probe);
        figures_limit_share(figures, profile, probe->probe_type);
    }
}

/* What the program is, and how many of its probe sites are on. */
static void head_first_line(char *line, const struct spex_profile *now) {
    const struct spex_profile_process *process = &now->process;
    char since[64] = "nothing collected yet", lease[96] = "", left[64];
    if (process->seconds > 0)
        snprintf(since, sizeof(since), "collecting for %.1f s", process->seconds);
    if (process->lease_seconds > 0)
        snprintf(lease, sizeof(lease), ", leased for %s",
                 spex_profile_lease_text(process, left, sizeof(left)));
    snprintf(line, SPEX_TOP_HEAD_BYTES, "%s %u   %s   %u of %u probe sites on%s", process->command,
             process->process_id, since, process->sites_on, process->sites_loaded, lease);
}

/* A program that streams its records has no figures of its own. */
static void head_second_line(char *line, const struct spex_profile *profile) {
    const struct spex_profile_process *process = &profile->process;
    double seconds = process->seconds, program = process->program_seconds;
    char overhead[32] = "?", collector[32] = "?", costs[64] = ", as believed", rate[32];
    if (process->elsewhere) {
        snprintf(line, SPEX_TOP_HEAD_BYTES, "its records go to another process; no figures here");
        return;
    }
    double share = program > 0 ? spex_profile_cost(profile) / program : 0;
    if (program > 0)
        spex_percent_text(share, share < 1 ? 2 : 3, overhead, sizeof(overhead));
    if (program > 0)
        spex_percent_text(process->collector_seconds / program, 2, collector, sizeof(collector));
    if (program > 0 && share <= 0 && !spex_profile_costs_known(profile))
        snprintf(overhead, sizeof(overhead), "not known");
    if (process->budget > 0)
        snprintf(costs, sizeof(costs), " (%zu/%zu costs)", spex_profile_measured(profile),
                 profile->row_count);
    snprintf(line, SPEX_TOP_HEAD_BYTES,
             "%s records/s  %" PRIu64 " lost  overhead %s%s + collector %s%s",
             spex_quantity_text(seconds > 0 ? (double)process->produced / seconds : 0, NAN, "",
                                rate, sizeof(rate)),
             process->lost, share > 0 ? spex_profile_cost_bound(profile) : "", overhead, collector,
             costs);
}

/* The first line is the same for both spans; the second has figures of the span. */
static void view_fill_head(struct spex_top_view *view, const struct spex_profile *now,
                           const struct spex_profile *difference) {
    for (int span = 0; span < SPEX_TOP_SPANS; span++) {
        const struct spex_profile *profile = span == SPEX_TOP_START ? now : difference;
        head_first_line(view->head[span][0], now);
        view->head[span][1][0] = '\0';
        if (profile)
            head_second_line(view->head[span][1], profile);
    }
}

/* Memory is allocated first: without it the view keeps what it shows. */
int spex_top_view_fill(struct spex_top_view *view, const struct spex_profile *now,
                       const struct spex_profile *difference) {
    struct spex_top_row *rows = calloc(now->site_count + 1, sizeof(*rows));
    size_t *shown = calloc(now->site_count + 1, sizeof(*shown));
    if (!rows || !shown) {
        free(rows);
        free(shown);
        return -ENOMEM;
    }
    bool mixed = spex_profile_sites_mixed(now);
    for (size_t s = 0; s < now->site_count; s++)
        row_fill_from_site(&rows[s], &now->sites[s], mixed);
    spex_top_view_free(view);
    view->rows = rows;
    view->shown = shown;
    view->row_count = merge_rows(rows, now->site_count);
    for (size_t r = 0; r < view->row_count; r++)
        row_name_value(&rows[r], now);
    view_fill_figures(view, SPEX_TOP_INTERVAL, difference);
    view_fill_figures(view, SPEX_TOP_START, now);
    view->early = !difference;
    view_fill_head(view, now, difference);
    spex_top_view_arrange(view);
    return 0;
}

/* The figure in a column; -1 when there is none. */
static double row_number(const struct spex_top_row *row, enum spex_top_span span,
                         enum spex_top_column column) {
    const struct spex_top_figures *figures = &row->figures[span];
    switch (column) {
    case SPEX_TOP_PERIOD:
        return row->sites_on ? (double)row->period : -1;
    case SPEX_TOP_ID:
        return row->id;
    case SPEX_TOP_RATE:
        return figures->has_rate ? figures->rate : -1;
    case SPEX_TOP_SHARE:
        return figures->has_share ? figures->share : -1;
    case SPEX_TOP_LOST:
        return figures->lost;
    case SPEX_TOP_OFF:
        return figures->off > 0 ? figures->off : -1;
    default:
        break;
    }
    if (!figures->has_values)
        return -1;
    switch (column) {
    case SPEX_TOP_MEAN:
        return figures->mean;
    case SPEX_TOP_P50:
        return figures->p50;
    case SPEX_TOP_P99:
        return figures->p99;
    default:
        return figures->max;
    }
}

static const char *row_text(const struct spex_top_row *row, enum spex_top_column column) {
    switch (column) {
    case SPEX_TOP_PROBE:
        return row->name;
    case SPEX_TOP_TYPE:
        return spex_probe_type_name(row->type);
    default:
        return row->value;
    }
}

/* Sorts text, periods and ids upwards, and other figures downwards. Rows without a figure come
 * last, also when the order is reversed. */
static int order_in(const struct spex_top_view *view, enum spex_top_column column,
                    const struct spex_top_row *one, const struct spex_top_row *other) {
    int order;
    if (spex_top_column_is_text(column)) {
        order = strcasecmp(row_text(one, column), row_text(other, column));
    } else {
        enum spex_top_span span = view->early ? SPEX_TOP_START : view->span;
        double x = row_number(one, span, column), y = row_number(other, span, column);
        if ((x < 0) != (y < 0))
            return x < 0 ? 1 : -1;
        bool rising = column == SPEX_TOP_PERIOD || column == SPEX_TOP_ID;
        order = rising ? (x > y) - (x < y) : (x < y) - (x > y);
    }
    return view->reversed ? -order : order;
}

/* Probes without times are in the order of their rates, as in the table of `spex run`, and those
 * that are off in that of their names. */
static int order_by_column(const void *a, const void *b, void *user) {
    const struct spex_top_view *view = user;
    const struct spex_top_row *one = &view->rows[*(const size_t *)a];
    const struct spex_top_row *other = &view->rows[*(const size_t *)b];
    int order = order_in(view, view->sort, one, other);
    if (!order && view->sort == SPEX_TOP_SHARE)
        order = order_in(view, SPEX_TOP_RATE, one, other);
    if (!order && view->sort == SPEX_TOP_SHARE)
        order = order_in(view, SPEX_TOP_PROBE, one, other);
    return order ? order : order_by_probe(one, other);
}

/* The filter is applied to the text that selects the probe, such as "query:lat". */
static bool row_passes_filter(const struct spex_top_view *view, const struct spex_top_row *row) {
    char text[SPEX_PROBE_TEXT_BYTES + 16];
    snprintf(text, sizeof(text), "%s:%s", row->name, spex_probe_type_name(row->type));
    return strcasestr(text, view->filter) != NULL;
}

/* The cursor stays at the probe that the user chose, wherever it is now; without a choice, at
 * its place. */
void spex_top_view_arrange(struct spex_top_view *view) {
    view->shown_count = 0;
    for (size_t r = 0; r < view->row_count; r++)
        if (row_passes_filter(view, &view->rows[r]))
            view->shown[view->shown_count++] = r;
    if (view->shown_count == 0)
        return;
    qsort_r(view->shown, view->shown_count, sizeof(*view->shown), order_by_column, view);
    for (size_t s = 0; view->at.type && s < view->shown_count; s++)
        if (order_by_probe(&view->rows[view->shown[s]], &view->at) == 0)
            view->cursor = s;
    if (view->cursor >= view->shown_count)
        view->cursor = view->shown_count - 1;
}

struct spex_top_row *spex_top_view_current(const struct spex_top_view *view) {
    return view->cursor < view->shown_count ? &view->rows[view->shown[view->cursor]] : NULL;
}

/* The row under the cursor becomes the one that the user has chosen. */
void spex_top_view_move(struct spex_top_view *view, long by) {
    long last = (long)view->shown_count - 1, to = (long)view->cursor + by;
    if (last < 0)
        return;
    view->cursor = to < 0 ? 0 : (size_t)(to > last ? last : to);
    view->at = *spex_top_view_current(view);
}

/* The columns follow each other in a circle. */
void spex_top_view_sort(struct spex_top_view *view, int by) {
    int column = (int)view->sort + by;
    view->sort = (enum spex_top_column)((column + SPEX_TOP_COLUMNS) % SPEX_TOP_COLUMNS);
    spex_top_view_arrange(view);
}

/* A site that is switched on gets the period that the developers chose. */
int spex_top_row_toggle(struct spex_top_row *row, char *selection, size_t size) {
    if (!row->sites) {
        snprintf(selection, size, "the library of %s is not loaded any more", row->name);
        return -EINVAL;
    }
    bool off = row->sites_on != 0;
    snprintf(selection, size, "+%s:%s%s", row->chosen, spex_probe_type_name(row->type),
             off ? "@off" : "");
    row->sites_on = off ? 0 : row->sites;
    row->period = off ? 0 : row->subsample;
    row->kind = SPEX_SAMPLING_PERIODIC;
    row->polled = 0;
    return 0;
}

/* The sampling as in a selection. Returns `text`. */
static const char *sampling_text(const struct spex_top_row *row, char *text, size_t size) {
    const struct spex_sampling sampling = {
        .period = row->period, .burst = row->burst, .kind = row->kind};
    spex_sampling_text(&sampling, text, size);
    return text;
}

/* The longest period depends on the kind of sampling. */
int spex_top_row_period(struct spex_top_row *row, bool longer, char *selection, size_t size) {
    if (!row->sites_on) {
        snprintf(selection, size, "%s is off", row->name);
        return -EINVAL;
    }
    if (row->polled == row->sites_on) {
        snprintf(selection, size, "%s is polled, and has no period", row->name);
        return -EINVAL;
    }
    uint64_t period = longer ? (uint64_t)row->period * 2 : row->period / 2;
    uint64_t most = spex_sampling_longest(row->kind, row->burst);
    if (period > most)
        period = most;
    if (period < 1)
        period = 1;
    if (period == row->period) {
        snprintf(selection, size, "%s cannot be recorded %s", row->name,
                 longer ? "less often" : "more often");
        return -EINVAL;
    }
    row->period = (uint32_t)period;
    char text[SPEX_SAMPLING_TEXT];
    snprintf(selection, size, "+%s:%s@%s", row->chosen, spex_probe_type_name(row->type),
             sampling_text(row, text, sizeof(text)));
    return 0;
}

/* "2 (1/3)": one of three sites is on. What says how many is left out where there is no room. */
static void row_period_text(const struct spex_top_row *row, int width, char *text, size_t size) {
    char sampling[SPEX_SAMPLING_TEXT];
    sampling_text(row, sampling, sizeof(sampling));
    if (!row->sites)
        snprintf(text, size, "gone");
    else if (!row->sites_on)
        snprintf(text, size, "off");
    else if (row->polled == row->sites_on)
        snprintf(text, size, "polled");
    else if (row->sites_on == row->sites ||
             snprintf(text, size, "%s (%u/%u)", sampling, row->sites_on, row->sites) > width)
        snprintf(text, size, "%s", sampling);
}

/* "~": the number is a share of a type's losses. */
static void lost_text(double lost, bool shared, int width, char *text, size_t size) {
    const char *about = shared ? "~" : "";
    char number[32];
    if (snprintf(text, size, "%s%.0f", about, lost) > width)
        snprintf(
            text, size, "%s%s", about,
            spex_quantity_within(lost, "", width - (int)strlen(about), number, sizeof(number)));
}

/* "≥": more is not known of it. */
static void rate_text(double rate, bool at_least, int width, char *text, size_t size) {
    char number[32];
    spex_quantity_within(rate, "", width - at_least, number, sizeof(number));
    snprintf(text, size, "%s%s", at_least ? "≥" : "", number);
}

/* A figure that is unknown is an empty cell. */
void spex_top_cell(const struct spex_top_row *row, enum spex_top_span span,
                   enum spex_top_column column, int width, char *text, size_t size) {
    double number = spex_top_column_is_text(column) ? 0 : row_number(row, span, column);
    if (spex_top_column_is_text(column))
        snprintf(text, size, "%s", row_text(row, column));
    else if (column == SPEX_TOP_PERIOD)
        row_period_text(row, width, text, size);
    else if (number < 0)
        text[0] = '\0';
    else if (column == SPEX_TOP_SHARE || column == SPEX_TOP_OFF)
        spex_percent_within(number, 3, width, text, size);
    else if (column == SPEX_TOP_RATE)
        rate_text(number, row->figures[span].rate_at_least, width, text, size);
    else if (column == SPEX_TOP_LOST)
        lost_text(number, row->figures[span].lost_shared, width, text, size);
    else if (column >= SPEX_TOP_MEAN && spex_probe_type_ticks(row->type))
        spex_quantity_within(number, "s", width, text, size);
    else
        spex_quantity_within(number, "", width, text, size);
}
