/* SPDX-License-Identifier: MIT */
/* Probes are sorted, and sums are joined as two sorted lists are. */
#include "tools/serve/sums.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/confidence.h"
#include "profile/figures.h"
#include "profile/table.h"
#include "ring/probe_type.h"

#define AT(mantissa, sign, exponent) mantissa##e##sign##exponent
#define DECADE(sign, exponent)                                                                     \
    AT(1, sign, exponent), AT(1.25, sign, exponent), AT(1.6, sign, exponent),                      \
        AT(2, sign, exponent), AT(2.5, sign, exponent), AT(3.15, sign, exponent),                  \
        AT(4, sign, exponent), AT(5, sign, exponent), AT(6.3, sign, exponent),                     \
        AT(8, sign, exponent)

const double spex_sums_bounds[SPEX_SUMS_BOUNDS] = {
    DECADE(-, 8), DECADE(-, 7), DECADE(-, 6), DECADE(-, 5), DECADE(-, 4), DECADE(-, 3),
    DECADE(-, 2), DECADE(-, 1), DECADE(+, 0), DECADE(+, 1), 1e2};

bool spex_sums_bound_is_of(size_t bound, unsigned per_decade) {
    size_t place = bound % SPEX_SUMS_FINE;
    return per_decade == SPEX_SUMS_FINE || place == 0 || place == 3 || place == 7;
}

void spex_sums_free(struct spex_sums *sums) {
    free(sums->probes);
    spex_share_give(sums->share, sums->room * sizeof(*sums->probes));
    *sums = (struct spex_sums){.share = sums->share};
}

void spex_sums_cut(struct spex_sums *sums, size_t count) {
    sums->count -= count < sums->count ? count : sums->count;
}

/* Whether there is room for so many probes, or the share allows it. */
static bool room_for(struct spex_sums *sums, size_t count) {
    if (count <= sums->room)
        return true;
    if (!spex_share_take(sums->share, (count - sums->room) * sizeof(*sums->probes)))
        return false;
    sums->room = count;
    return true;
}

static int probe_order(const struct spex_sums_probe *one, const struct spex_sums_probe *other) {
    int order = strcmp(one->provider, other->provider);
    if (!order)
        order = strcmp(one->name, other->name);
    if (!order)
        order = (one->id > other->id) - (one->id < other->id);
    return order ? order : (one->type > other->type) - (one->type < other->type);
}

static int order_for_qsort(const void *one, const void *other) {
    return probe_order(one, other);
}

/* The bounds of both kinds of buckets, so that a histogram is gone through once, in their order: made at
 * the first use. */
enum { ALL_BOUNDS = SPEX_SUMS_BOUNDS + SPEX_SUMS_NATIVES };
static struct {
    double bounds[ALL_BOUNDS];
    /* Which of `bounds` ends a bucket. */
    size_t classic[SPEX_SUMS_BOUNDS], natives[SPEX_SUMS_NATIVES];
    bool made;
} all;

static double native_bound(size_t bucket) {
    return exp2(SPEX_SUMS_NATIVE_LEAST + (double)bucket / (1 << SPEX_SUMS_SCHEMA));
}

static void make_bounds(void) {
    size_t c = 0, n = 0;
    while (!all.made && c + n < ALL_BOUNDS) {
        bool native = c == SPEX_SUMS_BOUNDS ||
                      (n < SPEX_SUMS_NATIVES && native_bound(n) < spex_sums_bounds[c]);
        size_t at = c + n;
        all.bounds[at] = native ? native_bound(n) : spex_sums_bounds[c];
        if (native)
            all.natives[n++] = at;
        else
            all.classic[c++] = at;
    }
    all.made = true;
}

/* `weights` are cumulative, of `all.bounds` and then of all values. */
static void set_buckets(struct spex_sums_probe *probe, const double weights[ALL_BOUNDS + 1]) {
    double before = 0;
    for (size_t b = 0; b < SPEX_SUMS_BOUNDS; b++)
        probe->buckets[b] = weights[all.classic[b]];
    probe->buckets[SPEX_SUMS_BOUNDS] = weights[ALL_BOUNDS];
    for (size_t b = 0; b < SPEX_SUMS_NATIVES; b++) {
        double now = weights[b + 1 < SPEX_SUMS_NATIVES ? all.natives[b] : ALL_BOUNDS];
        probe->natives[b] = now - before;
        before = now;
    }
}

/* Times need the length of a tick, which is not known in the first milliseconds. */
static void add_values(struct spex_sums_probe *probe, const struct spex_profile *profile,
                       const struct spex_profile_row *row) {
    bool ticks = spex_probe_type_ticks(probe->type);
    double rate = profile->process.ticks_per_second;
    double scale = ticks ? rate : 1, bounds[ALL_BOUNDS], weights[ALL_BOUNDS + 1];
    if (scale <= 0)
        return;
    make_bounds();
    for (size_t b = 0; b < ALL_BOUNDS; b++)
        bounds[b] = all.bounds[b] * scale;
    probe->series = row->probe.series;
    const char *names = spex_profile_value_names(profile, &row->probe);
    snprintf(probe->names, sizeof(probe->names), "%s", names ? names : "");
    for (unsigned s = 0; s < probe->series; s++) {
        double sum = spex_figures_divide(profile, row, s, bounds, ALL_BOUNDS, weights);
        for (size_t b = 1; b <= ALL_BOUNDS; b++)
            weights[b] += weights[b - 1];
        probe->weight[s] = weights[ALL_BOUNDS];
        probe->sum[s] = sum / scale;
        if (s == 0)
            set_buckets(probe, weights);
    }
}

/* Corrected as the times in the buckets. A rate that a program tells may be so small that no time
 * follows. */
static void add_slowest(struct spex_sums_probe *probe, const struct spex_profile *profile,
                        const struct spex_profile_probe *from) {
    const struct spex_profile_slowest *slowest = &from->slowest;
    double rate = profile->process.ticks_per_second;
    if (!spex_probe_type_ticks(probe->type) || rate <= 0)
        return;
    double seconds = spex_figures_corrected(profile, from, (double)slowest->ticks) / rate;
    if (seconds > 0 && isfinite(seconds))
        probe->slowest = (struct spex_sums_slowest){.seconds = seconds,
                                                    .at = (double)slowest->realtime_ns / 1e9,
                                                    .process_id = slowest->process_id,
                                                    .thread_id = slowest->thread_id,
                                                    .cpu_id = slowest->cpu_id};
}

static void name_probe(struct spex_sums_probe *probe, const struct spex_profile_probe *from) {
    *probe = (struct spex_sums_probe){.id = spex_profile_id(from->probe_id, from->declared),
                                      .type = from->probe_type};
    memcpy(probe->provider, from->provider, sizeof(probe->provider));
    memcpy(probe->name, from->name, sizeof(probe->name));
    /* The id of a probe with a name says nothing more, and may differ. */
    if (probe->name[0])
        probe->id = -1;
}

static void probe_of(struct spex_sums_probe *probe, const struct spex_profile *profile,
                     const struct spex_profile_row *row) {
    const struct spex_profile_probe *from = &row->probe;
    name_probe(probe, from);
    probe->period = from->period;
    probe->counts[SPEX_SUMS_EXECUTIONS] = spex_count_told(from);
    probe->margin = spex_count_margin(from);
    probe->counts[SPEX_SUMS_RECORDS] = (double)from->records;
    probe->counts[SPEX_SUMS_LOST] = from->lost;
    probe->counts[SPEX_SUMS_OVERHEAD] = spex_profile_row_cost(profile, from);
    probe->counts[SPEX_SUMS_ON] = from->on_seconds;
    probe->counts[SPEX_SUMS_HELD] = from->held_seconds;
    add_values(probe, profile, row);
    add_slowest(probe, profile, from);
}

static void totals_of(struct spex_sums *sums, const struct spex_profile_process *process) {
    sums->totals[SPEX_SUMS_CPU] = process->program_seconds;
    sums->totals[SPEX_SUMS_COLLECTOR_CPU] = process->collector_seconds;
    sums->totals[SPEX_SUMS_PRODUCED] = (double)process->produced;
    sums->totals[SPEX_SUMS_RECORDS_LOST] = (double)process->lost;
    sums->totals[SPEX_SUMS_UNDELIVERED] = (double)process->undelivered;
    sums->sites = process->sites;
    sums->sites_on = process->sites_on;
    sums->budget = process->budget;
    if (process->budget <= 0)
        return;
    sums->totals[SPEX_SUMS_BUDGET_TIME] = process->budget_seconds;
    sums->totals[SPEX_SUMS_BUDGET_ALLOWED] = process->budget * process->budget_seconds;
    sums->totals[SPEX_SUMS_BUDGET_SPENT] = process->budget_spent;
}

/* Probes come one by one: the array grows by half. */
static int grow(struct spex_sums *sums, size_t most) {
    size_t grown = sums->count + sums->count / 2 + 8;
    grown = grown < most ? grown : most;
    struct spex_sums_probe *probes = realloc(sums->probes, grown * sizeof(*probes));
    if (!probes)
        return -ENOMEM;
    sums->probes = probes;
    return room_for(sums, grown) ? 0 : -EDQUOT;
}

int spex_sums_take(struct spex_sums *sums, const struct spex_profile *profile,
                   const struct spex_profile_row *row, size_t most) {
    int err = 0;
    if (sums->count >= most)
        sums->left_out++;
    else if (sums->count == sums->room)
        err = grow(sums, most);
    if (sums->count < most && !err)
        probe_of(&sums->probes[sums->count++], profile, row);
    return err;
}

void spex_sums_end(struct spex_sums *sums, const struct spex_profile *profile) {
    totals_of(sums, &profile->process);
    if (sums->count)
        qsort(sums->probes, sums->count, sizeof(*sums->probes), order_for_qsort);
}

static void slower(struct spex_sums_slowest *to, const struct spex_sums_slowest *from) {
    if (from->seconds > to->seconds)
        *to = *from;
}

static uint32_t shorter_period(uint32_t one, uint32_t other) {
    return one && (!other || one < other) ? one : other;
}

/* How a counter is joined with another one: their sum, or the greater one. */
typedef double join(double one, double other);

static double add(double one, double other) {
    return one + other;
}

static void join_all(join *joined, double *to, const double *from, size_t count) {
    for (size_t n = 0; n < count; n++)
        to[n] = joined(to[n], from[n]);
}

static void join_names(struct spex_sums_probe *to, const struct spex_sums_probe *from) {
    if (!to->series)
        memcpy(to->names, from->names, sizeof(to->names));
    else if (from->series && strcmp(to->names, from->names) != 0)
        to->names[0] = '\0';
}

static void join_probe(join *joined, struct spex_sums_probe *to,
                       const struct spex_sums_probe *from) {
    join_names(to, from);
    to->series = from->series > to->series ? from->series : to->series;
    join_all(joined, to->counts, from->counts, SPEX_SUMS_COUNTS);
    join_all(joined, to->weight, from->weight, SPEX_MAX_FIELDS);
    join_all(joined, to->sum, from->sum, SPEX_MAX_FIELDS);
    join_all(joined, to->buckets, from->buckets, SPEX_SUMS_BUCKETS);
    join_all(joined, to->natives, from->natives, SPEX_SUMS_NATIVES);
}

/* The probe of the same name, after `at`; NULL where there was no room for it. */
static struct spex_sums_probe *same_probe(struct spex_sums *sums, size_t *at,
                                          const struct spex_sums_probe *like) {
    while (*at < sums->count && probe_order(&sums->probes[*at], like) < 0)
        ++*at;
    bool same = *at < sums->count && probe_order(&sums->probes[*at], like) == 0;
    return same ? &sums->probes[*at] : NULL;
}

/* How many probes only `from` has. */
static size_t fresh_in(struct spex_sums *to, const struct spex_sums *from) {
    size_t fresh = 0, at = 0;
    for (size_t f = 0; f < from->count; f++)
        fresh += !same_probe(to, &at, &from->probes[f]);
    return fresh;
}

/* Sets `probes` to those of `to` and the first `fresh` ones that only `from` has, in their order.
 * These are all zero but for what names them. */
static void merge(struct spex_sums_probe *probes, const struct spex_sums *to,
                  const struct spex_sums *from, size_t fresh) {
    size_t count = 0, t = 0;
    for (size_t f = 0; f < from->count && fresh; f++) {
        while (t < to->count && probe_order(&to->probes[t], &from->probes[f]) < 0)
            probes[count++] = to->probes[t++];
        if (t < to->count && probe_order(&to->probes[t], &from->probes[f]) == 0)
            continue;
        fresh--;
        probes[count] =
            (struct spex_sums_probe){.id = from->probes[f].id, .type = from->probes[f].type};
        memcpy(probes[count].provider, from->probes[f].provider, sizeof(probes->provider));
        memcpy(probes[count++].name, from->probes[f].name, sizeof(probes->name));
    }
    while (t < to->count)
        probes[count++] = to->probes[t++];
}

/* Makes room for the probes that only `from` has, up to `most`. */
static int take_in(struct spex_sums *to, const struct spex_sums *from, size_t most) {
    size_t fresh = fresh_in(to, from), room = most > to->count ? most - to->count : 0;
    room = room < fresh ? room : fresh;
    if (!room_for(to, to->count + room))
        room = 0;
    to->left_out += fresh - room + from->left_out;
    if (!room)
        return 0;
    struct spex_sums_probe *probes = calloc(to->room, sizeof(*probes));
    if (!probes)
        return -ENOMEM;
    merge(probes, to, from, room);
    free(to->probes);
    to->probes = probes;
    to->count += room;
    return 0;
}

int spex_sums_add(struct spex_sums *to, const struct spex_sums *from, size_t most, bool gauges) {
    int err = take_in(to, from, most);
    if (err)
        return err;
    join_all(add, to->totals, from->totals, SPEX_SUMS_TOTALS);
    size_t at = 0;
    for (size_t f = 0; f < from->count; f++) {
        struct spex_sums_probe *probe = same_probe(to, &at, &from->probes[f]);
        if (!probe)
            continue;
        join_probe(add, probe, &from->probes[f]);
        probe->margin += from->probes[f].margin;
        if (!gauges)
            continue;
        probe->period = shorter_period(probe->period, from->probes[f].period);
        slower(&probe->slowest, &from->probes[f].slowest);
    }
    if (!gauges)
        return 0;
    to->sites += from->sites;
    to->sites_on += from->sites_on;
    to->budget = fmax(to->budget, from->budget);
    return 0;
}

/* Times need the length of a tick, as in add_values. */
static void set_quantiles(struct spex_sums_probe *probe, const struct spex_profile *recent,
                          const struct spex_profile_row *row) {
    double rate = recent->process.ticks_per_second;
    struct spex_figures figures = {.any = false};
    if (spex_probe_type_ticks(row->probe.probe_type) && row->probe.series && rate > 0)
        spex_figures_of(recent, row, 0, &figures);
    probe->recent = figures.any;
    for (size_t q = 0; q < SPEX_SUMS_QUANTILES && figures.any; q++) {
        const struct spex_quantile *from = &figures.quantiles[q];
        probe->quantiles[q] = (struct spex_sums_quantile){from->value / rate, from->low / rate,
                                                          from->high / rate, from->told};
    }
}

void spex_sums_quantiles(struct spex_sums *sums, const struct spex_profile *recent) {
    for (size_t s = 0; s < sums->count; s++)
        sums->probes[s].recent = false;
    for (size_t r = 0; recent && sums->count && r < recent->row_count; r++) {
        struct spex_sums_probe like;
        name_probe(&like, &recent->rows[r].probe);
        struct spex_sums_probe *probe =
            bsearch(&like, sums->probes, sums->count, sizeof(like), order_for_qsort);
        if (probe)
            set_quantiles(probe, recent, &recent->rows[r]);
    }
}

int spex_sums_raise(struct spex_sums *shown, const struct spex_sums *now, size_t most) {
    shown->left_out = 0;
    int err = take_in(shown, now, most);
    if (err)
        return err;
    join_all(fmax, shown->totals, now->totals, SPEX_SUMS_TOTALS);
    shown->sites = now->sites;
    shown->sites_on = now->sites_on;
    shown->budget = now->budget;
    for (size_t s = 0; s < shown->count; s++) {
        shown->probes[s].period = 0;
        shown->probes[s].slowest = (struct spex_sums_slowest){.seconds = 0};
    }
    size_t at = 0;
    for (size_t n = 0; n < now->count; n++) {
        struct spex_sums_probe *probe = same_probe(shown, &at, &now->probes[n]);
        if (!probe)
            continue;
        join_probe(fmax, probe, &now->probes[n]);
        /* An estimate may fall, and a counter does not. */
        probe->margin = now->probes[n].margin + probe->counts[SPEX_SUMS_EXECUTIONS] -
                        now->probes[n].counts[SPEX_SUMS_EXECUTIONS];
        probe->period = now->probes[n].period;
        probe->slowest = now->probes[n].slowest;
    }
    return 0;
}
