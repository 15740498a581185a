/* SPDX-License-Identifier: MIT */
#include "observe/profile_sum.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "observe/profile_reader.h"
#include "profile/held.h"

/* The identity of a probe, the same in two processes. */
struct identity {
    const char *provider, *name;
    uint32_t type, declared;
    uint16_t number;
};

static struct identity site_identity(const struct spex_profile_site *site) {
    return (struct identity){site->provider, site->name, site->probe_type, site->declared,
                             site->probe_id};
}

static struct identity probe_identity(const struct spex_profile_probe *probe) {
    return (struct identity){probe->provider, probe->name, probe->probe_type, probe->declared,
                             probe->probe_id};
}

/* Whether both have one number: types of one id share it. */
static bool same_number(const struct identity *a, const struct identity *b) {
    int32_t id = spex_profile_id(a->number, a->declared);
    return id == spex_profile_id(b->number, b->declared) && strcmp(a->provider, b->provider) == 0 &&
           (id >= 0 || strcmp(a->name, b->name) == 0);
}

bool spex_profile_same_probe(const struct spex_profile_probe *one,
                             const struct spex_profile_probe *other) {
    const struct identity a = probe_identity(one), b = probe_identity(other);
    return a.type == b.type && same_number(&a, &b);
}

/* Whether the number is that of another probe of the sum, or, with `like`, of this one. */
static bool number_is(const struct spex_profile *sum, uint16_t number,
                      const struct identity *like) {
    for (size_t r = 0; r < sum->row_count; r++) {
        struct identity other = probe_identity(&sum->rows[r].probe);
        if (other.number == number && (!like || same_number(&other, like)))
            return true;
    }
    for (size_t s = 0; s < sum->site_count; s++) {
        struct identity other = site_identity(&sum->sites[s]);
        if (other.number == number && (!like || same_number(&other, like)))
            return true;
    }
    return false;
}

/* The number of the probe in the sum; -1: it has none yet. */
static int32_t number_of(const struct spex_profile *sum, const struct identity *like) {
    for (size_t s = 0; s < sum->site_count; s++) {
        struct identity other = site_identity(&sum->sites[s]);
        if (same_number(&other, like))
            return other.number;
    }
    for (size_t r = 0; r < sum->row_count; r++) {
        struct identity other = probe_identity(&sum->rows[r].probe);
        if (same_number(&other, like))
            return other.number;
    }
    return -1;
}

/* The number that the probe gets in the sum: mostly its own. There are more numbers than sites of
 * one process; a sum of strangers may run out of them, and then they share one. */
static uint16_t number_in(const struct spex_profile *sum, const struct identity *like) {
    if (number_is(sum, like->number, like))
        return like->number;
    int32_t known = number_of(sum, like);
    uint16_t number = known >= 0 ? (uint16_t)known : like->number;
    while (known < 0 && number_is(sum, number, NULL) && number != (uint16_t)(like->number + 1))
        number--;
    return number;
}

/* The declared id, said in so many words: the sum may give the probe another number. */
static uint32_t declared_as(uint32_t declared, uint16_t number) {
    return declared ? declared : number + UINT32_C(1);
}

/* Processes of one program have the same sites in the same order, and mostly the same numbers. The
 * first ones keep theirs. */
static int sites_add(struct spex_profile *sum, const struct spex_profile *more) {
    size_t before = sum->site_count, count = before + more->site_count;
    bool first = !before && !sum->row_count;
    struct spex_profile_site *sites = realloc(sum->sites, (count + 1) * sizeof(*sites));
    if (!sites)
        return -ENOMEM;
    sum->sites = sites;
    for (size_t s = 0; s < more->site_count; s++) {
        struct spex_profile_site site = more->sites[s];
        struct identity identity = site_identity(&site);
        struct identity like = s < before ? site_identity(&sites[s]) : identity;
        site.declared = declared_as(site.declared, site.probe_id);
        if (s < before && same_number(&like, &identity))
            site.probe_id = like.number;
        else if (!first)
            site.probe_id = number_in(sum, &identity);
        sites[sum->site_count++] = site;
    }
    return 0;
}

void spex_variance_join(struct spex_variance *spread, double origin,
                        struct spex_variance_sums sums) {
    double by = origin - spread->origin;
    spread->sums.distances += sums.distances + by * (2 * sums.products + by * sums.weights);
    spread->sums.products += sums.products + by * sums.weights;
    spread->sums.weights += sums.weights;
    spread->sums.weights_all += sums.weights_all;
    spread->sums.squares += sums.squares;
    spread->sums.local += sums.local;
    spex_block_sums_add(&spread->sums.blocks, &sums.blocks, by, 1);
}

static void variance_add(struct spex_variance *spread, const struct spex_variance *more) {
    spex_variance_widen(spread, more->scale);
    spex_variance_join(spread, more->origin, spex_variance_sums(more));
    spex_variance_rows_add(spread, more, 1);
}

/* The moments follow from the rule for joining two sets, as in spex_values_subtract. */
void spex_values_join(struct spex_values *values, double weight, double mean, double squares) {
    double all = values->weight + weight, distance = mean - values->mean;
    if (weight > 0) {
        values->mean += distance * weight / all;
        values->squares += squares + distance * distance * values->weight * weight / all;
        values->weight = all;
    }
}

static void values_add(struct spex_values *values, const struct spex_values *more) {
    spex_values_join(values, more->weight, more->mean, more->squares);
    spex_values_merge(values, more);
    variance_add(&values->spread, &more->spread);
}

/* Adds values to those of a row of the sum, which owns them. */
static int place_add(const struct spex_values **place, const struct spex_values *more) {
    struct spex_values *values = (struct spex_values *)(uintptr_t)*place;
    if (!more)
        return 0;
    if (values) {
        values_add(values, more);
        return 0;
    }
    values = malloc(sizeof(*values));
    if (!values)
        return -ENOMEM;
    *values = *more;
    *place = values;
    return 0;
}

/* The spread of losses is that of all values: of one that has none, of its values. Before the
 * values are added. */
static int losses_add(struct spex_profile_row *row, const struct spex_profile_row *more,
                      unsigned series) {
    const struct spex_values *values = row->values[series];
    bool had = row->losses[series] != NULL;
    int err = place_add(&row->losses[series], more->losses[series]);
    struct spex_values *losses = (struct spex_values *)(uintptr_t)row->losses[series];
    if (!err && losses && !had && values)
        variance_add(&losses->spread, &values->spread);
    if (!err && losses && !more->losses[series] && more->values[series])
        variance_add(&losses->spread, &more->values[series]->spread);
    return err;
}

/* Times are counted in ticks, whose length each process measures anew all the time. Makes those of
 * `of` ones by the length that `as` goes by, so that sums and differences are of ticks: by two
 * lengths, a time that has stood still would have changed. */
static void times_as(struct spex_profile_probe *probe, const struct spex_profile_process *as,
                     const struct spex_profile_process *of) {
    double rate = as->ticks_per_second, factor = of->ticks_per_second / rate;
    if (!(rate > 0) || !(of->ticks_per_second > 0))
        return;
    probe->on_seconds *= factor;
    probe->polled_seconds *= factor;
    probe->held_seconds *= factor;
}

static void occupancy_add(struct spex_occupancy *sum, const struct spex_occupancy *more) {
    sum->looks += more->looks;
    sum->active += more->active;
    sum->threads += more->threads;
    sum->thread_squares += more->thread_squares;
    sum->pairs += more->pairs;
    sum->active_pairs += more->active_pairs;
    sum->thread_pairs += more->thread_pairs;
}

/* The shortest period is told, with the kind of its sampling. */
static void sampling_add(struct spex_profile_probe *sum, const struct spex_profile_probe *more) {
    if (more->period && (!sum->period || more->period < sum->period))
        sum->period = more->period;
    if (more->period_last && (!sum->period_last || more->period_last < sum->period_last)) {
        sum->period_last = more->period_last;
        sum->kind = more->kind;
        sum->burst = more->burst;
    }
    if (strcmp(sum->why, more->why) != 0)
        sum->why[0] = '\0';
}

static void spans_add(struct spex_profile_probe *sum, const struct spex_profile_probe *more) {
    sum->spans_open += more->spans_open;
    sum->spans_abandoned += more->spans_abandoned;
    sum->spans_refused += more->spans_refused;
    sum->spans_unmatched += more->spans_unmatched;
    sum->spans_partial |= more->spans_partial;
}

void spex_profile_probe_add(struct spex_profile_probe *sum, const struct spex_profile_probe *more) {
    sampling_add(sum, more);
    spans_add(sum, more);
    sum->sites += more->sites;
    sum->sites_on += more->sites_on;
    sum->lost_shared |= more->lost_shared;
    sum->refused |= more->refused;
    sum->on_seconds += more->on_seconds;
    sum->polled_seconds += more->polled_seconds;
    sum->held_seconds += more->held_seconds;
    spex_held_add(sum, more);
    sum->count += more->count;
    sum->count_variance += more->count_variance;
    sum->cost_factor = fmaxf(sum->cost_factor, more->cost_factor);
    sum->weight += more->weight;
    sum->weight_squares += more->weight_squares;
    sum->lost += more->lost;
    sum->records += more->records;
    for (unsigned m = 0; m < SPEX_MARKS; m++)
        sum->marked[m] += more->marked[m];
    if (more->slowest.ticks > sum->slowest.ticks)
        sum->slowest = more->slowest;
    occupancy_add(&sum->activity, &more->activity);
    spex_line_add_sums(&sum->nested, &more->nested, 1);
}

static int row_add(struct spex_profile_row *row, const struct spex_profile_row *more,
                   const struct spex_profile_probe *probe) {
    int err = 0;
    spex_profile_probe_add(&row->probe, probe);
    for (unsigned s = 0; s < more->probe.series && s < SPEX_MAX_FIELDS && !err; s++) {
        err = losses_add(row, more, s);
        err = err ? err : place_add(&row->values[s], more->values[s]);
        if (!err && s >= row->probe.series)
            row->probe.series = (uint16_t)(s + 1);
    }
    return err;
}

/* The row of the probe, or an empty one for it. There is room for one more. */
static struct spex_profile_row *row_for(struct spex_profile *sum,
                                        const struct spex_profile_row *like) {
    struct identity identity = probe_identity(&like->probe);
    for (size_t r = 0; r < sum->row_count; r++) {
        struct identity other = probe_identity(&sum->rows[r].probe);
        if (other.type == identity.type && same_number(&other, &identity))
            return &sum->rows[r];
    }
    uint16_t number = number_in(sum, &identity);
    struct spex_profile_row *row = &sum->rows[sum->row_count++];
    *row = (struct spex_profile_row){
        .probe = {.probe_type = like->probe.probe_type,
                  .probe_id = number,
                  .declared = declared_as(like->probe.declared, like->probe.probe_id)}};
    memcpy(row->probe.name, like->probe.name, sizeof(row->probe.name));
    memcpy(row->probe.provider, like->probe.provider, sizeof(row->probe.provider));
    memcpy(row->probe.why, like->probe.why, sizeof(row->probe.why));
    return row;
}

static int rows_add(struct spex_profile *sum, const struct spex_profile *more) {
    size_t most = sum->row_count + more->row_count + 1;
    struct spex_profile_row *rows = realloc(sum->rows, most * sizeof(*rows));
    int err = rows ? 0 : -ENOMEM;
    if (!err)
        sum->rows = rows;
    for (size_t r = 0; r < more->row_count && !err; r++) {
        struct spex_profile_probe probe = more->rows[r].probe;
        times_as(&probe, &sum->process, &more->process);
        err = row_add(row_for(sum, &more->rows[r]), &more->rows[r], &probe);
    }
    if (!err && sum->row_count)
        qsort(sum->rows, sum->row_count, sizeof(*sum->rows), spex_profile_row_order);
    return err;
}

/* Costs are those of the first process that has measured them: on one machine they are alike. */
static void type_add(struct spex_profile_type *sum, const struct spex_profile_type *more) {
    uint64_t produced = sum->produced + more->produced, lost = sum->lost + more->lost;
    uint32_t used = sum->used | more->used;
    if (!sum->measured && more->measured)
        *sum = *more;
    sum->produced = produced;
    sum->lost = lost;
    sum->used = used;
}

static int types_add(struct spex_profile *sum, const struct spex_profile *more) {
    size_t known = sum->types ? sum->type_count : 0, most = known + more->type_count + 1;
    struct spex_profile_type *types = realloc(sum->types, most * sizeof(*types));
    if (!types)
        return -ENOMEM;
    sum->types = types;
    for (size_t m = 0; m < more->type_count; m++) {
        size_t t = 0;
        while (t < known && (types[t].probe_type != more->types[m].probe_type ||
                             types[t].pcid != more->types[m].pcid))
            t++;
        if (t < known)
            type_add(&types[t], &more->types[m]);
        else
            types[sum->type_count++] = more->types[m];
    }
    return 0;
}

/* Texts that differ are left empty. */
static void text_add(char *sum, const char *more) {
    if (strcmp(sum, more) != 0)
        *sum = '\0';
}

static void process_add(struct spex_profile_process *sum, const struct spex_profile_process *more) {
    sum->threads += more->threads;
    sum->ring_bytes += more->ring_bytes;
    sum->seconds = fmax(sum->seconds, more->seconds);
    if (sum->ticks_per_second <= 0)
        sum->ticks_per_second = more->ticks_per_second;
    sum->program_seconds += more->program_seconds;
    sum->collector_seconds += more->collector_seconds;
    sum->produced += more->produced;
    sum->consumed += more->consumed;
    sum->lost += more->lost;
    sum->undelivered += more->undelivered;
    sum->unrecorded += more->unrecorded;
    sum->unfollowed += more->unfollowed;
    sum->sites += more->sites;
    sum->sites_on += more->sites_on;
    sum->sites_refused += more->sites_refused;
    sum->elsewhere |= more->elsewhere;
    sum->budget = fmax(sum->budget, more->budget);
    sum->budget_seconds += more->budget_seconds;
    sum->budget_spent += more->budget_spent;
    sum->lease_seconds = fmax(sum->lease_seconds, more->lease_seconds);
    text_add(sum->selection, more->selection);
    text_add(sum->leased, more->leased);
    text_add(sum->rate_policy, more->rate_policy);
}

int spex_profile_add(struct spex_profile *sum, const struct spex_profile *more) {
    if (!sum->types)
        sum->process = more->process;
    else
        process_add(&sum->process, &more->process);
    int err = types_add(sum, more);
    err = err ? err : sites_add(sum, more);
    return err ? err : rows_add(sum, more);
}

/* All times of a probe are shortened alike: the part of them in which it was counted stays. */
void spex_profile_settle(struct spex_profile *sum, double seconds) {
    sum->process.seconds = seconds;
    for (size_t r = 0; r < sum->row_count; r++) {
        struct spex_profile_probe *probe = &sum->rows[r].probe;
        double told = probe->on_seconds + probe->held_seconds;
        double factor = told > seconds && told > 0 ? seconds / told : 1;
        probe->on_seconds *= factor;
        probe->polled_seconds *= factor;
        probe->held_seconds *= factor;
    }
}

/* Replaces *values, if there are any, by a copy from which `before`, which may be NULL, is
 * subtracted. 0 or -ENOMEM. */
static int values_replace(const struct spex_values **values, const struct spex_values *before) {
    struct spex_values *copy = *values ? malloc(sizeof(*copy)) : NULL;
    if (copy) {
        *copy = **values;
        if (before)
            spex_values_subtract(copy, before);
    }
    int err = *values && !copy ? -ENOMEM : 0;
    *values = copy;
    return err;
}

/* Replaces the losses as values_replace does. Their spread is that of all values, also of those
 * before the first loss. */
static int losses_replace(struct spex_profile_row *row, unsigned series,
                          const struct spex_profile_row *before) {
    int err = values_replace(&row->losses[series], before->losses[series]);
    struct spex_values *losses = (struct spex_values *)(uintptr_t)row->losses[series];
    if (losses && !before->losses[series] && before->values[series])
        spex_variance_subtract(&losses->spread, &before->values[series]->spread);
    return err;
}

/* Replaces the row's values and losses by what has been added since `before`. */
static int row_values_replace(struct spex_profile_row *row, const struct spex_profile_row *before) {
    int err = 0;
    for (unsigned s = 0; s < SPEX_MAX_FIELDS; s++) {
        if (s >= row->probe.series)
            row->values[s] = row->losses[s] = NULL;
        int failed = values_replace(&row->values[s], before->values[s]);
        err = err ? err : failed;
        failed = losses_replace(row, s, before);
        err = err ? err : failed;
    }
    return err;
}

/* The seconds before, of which those now differ by no less than a tick, or not at all. */
static double settled_before(double before, double now, double ticks_per_second) {
    return fabs(now - before) * ticks_per_second < 0.5 ? now : before;
}

/* The times of the probe before, for a difference. */
static struct spex_profile_probe times_before(const struct spex_profile_probe *probe,
                                              const struct spex_profile_probe *now,
                                              const struct spex_profile_process *process_before,
                                              const struct spex_profile_process *process) {
    struct spex_profile_probe before = *probe;
    double rate = process->ticks_per_second;
    times_as(&before, process, process_before);
    if (rate <= 0)
        return before;
    before.on_seconds = settled_before(before.on_seconds, now->on_seconds, rate);
    before.polled_seconds = settled_before(before.polled_seconds, now->polled_seconds, rate);
    before.held_seconds = settled_before(before.held_seconds, now->held_seconds, rate);
    return before;
}

/* Subtracts what `before`, which may be NULL, had of the probe. The row owns copies of its
 * values afterwards. */
static int row_subtract(struct spex_profile_row *row, const struct spex_profile_row *before,
                        const struct spex_profile_process *process_before,
                        const struct spex_profile_process *process) {
    static const struct spex_profile_row none;
    struct spex_profile_probe *probe = &row->probe;
    int err = row_values_replace(row, before ? before : &none);
    if (err || !before)
        return err;
    struct spex_profile_probe times = times_before(&before->probe, probe, process_before, process);
    spex_held_since(probe, &times);
    probe->on_seconds -= times.on_seconds;
    probe->polled_seconds -= times.polled_seconds;
    probe->held_seconds = fmax(probe->held_seconds - times.held_seconds, 0);
    spex_occupancy_subtract(&probe->activity, &before->probe.activity);
    probe->count -= before->probe.count;
    probe->weight -= before->probe.weight;
    probe->weight_squares -= before->probe.weight_squares;
    probe->count_variance = fmax(probe->count_variance - before->probe.count_variance, 0);
    /* The share of a probe in the losses of its ring is estimated, and may fall. */
    probe->lost = fmax(probe->lost - before->probe.lost, 0);
    probe->records -= before->probe.records;
    probe->spans_abandoned = spex_grown(before->probe.spans_abandoned, probe->spans_abandoned);
    probe->spans_refused = spex_grown(before->probe.spans_refused, probe->spans_refused);
    probe->spans_unmatched = spex_grown(before->probe.spans_unmatched, probe->spans_unmatched);
    for (unsigned m = 0; m < SPEX_MARKS; m++)
        probe->marked[m] -= before->probe.marked[m];
    /* The count may fall by the few executions under way when it was read. */
    probe->count = fmax(probe->count, 0);
    return 0;
}

/* The types are in the same order in both profiles; a type that is not is left as it is. */
static void types_subtract(struct spex_profile *difference, const struct spex_profile *before) {
    for (size_t t = 0; t < difference->type_count && t < before->type_count; t++) {
        struct spex_profile_type *type = &difference->types[t];
        if (type->probe_type != before->types[t].probe_type || type->pcid != before->types[t].pcid)
            continue;
        type->produced = spex_grown(before->types[t].produced, type->produced);
        type->lost = spex_grown(before->types[t].lost, type->lost);
    }
}

/* Counters that wrap or start again do not become negative: spex_grown. */
static void process_subtract(struct spex_profile_process *now,
                             const struct spex_profile_process *before) {
    now->seconds -= before->seconds;
    now->program_seconds -= before->program_seconds;
    now->collector_seconds -= before->collector_seconds;
    now->budget_seconds -= before->budget_seconds;
    now->budget_spent -= before->budget_spent;
    now->produced = spex_grown(before->produced, now->produced);
    now->consumed = spex_grown(before->consumed, now->consumed);
    now->lost = spex_grown(before->lost, now->lost);
    now->undelivered = spex_grown(before->undelivered, now->undelivered);
    now->unrecorded = spex_grown(before->unrecorded, now->unrecorded);
    now->unfollowed = spex_grown(before->unfollowed, now->unfollowed);
}

/* Rows that only the earlier profile has are left out: a probe that has gone has done nothing
 * since. */
int spex_profile_since(const struct spex_profile *now, const struct spex_profile *before,
                       struct spex_profile *difference) {
    *difference = (struct spex_profile){.process = now->process, .type_count = now->type_count};
    difference->types = calloc(now->type_count + 1, sizeof(*difference->types));
    difference->rows = calloc(now->row_count + 1, sizeof(*difference->rows));
    difference->sites = calloc(now->site_count + 1, sizeof(*difference->sites));
    int err = difference->types && difference->rows && difference->sites ? 0 : -ENOMEM;
    process_subtract(&difference->process, &before->process);
    if (!err && now->type_count)
        memcpy(difference->types, now->types, now->type_count * sizeof(*now->types));
    if (!err && now->site_count)
        memcpy(difference->sites, now->sites, now->site_count * sizeof(*now->sites));
    difference->site_count = err ? 0 : now->site_count;
    if (!err)
        types_subtract(difference, before);
    for (size_t r = 0; !err && r < now->row_count; r++) {
        struct spex_profile_row *row = &difference->rows[difference->row_count];
        *row = now->rows[r];
        err = row_subtract(row,
                           spex_profile_row_of(before, row->probe.probe_id, row->probe.probe_type),
                           &before->process, &now->process);
        difference->row_count++;
    }
    if (err)
        spex_profile_free(difference);
    return err;
}
