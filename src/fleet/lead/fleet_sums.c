/* SPDX-License-Identifier: MIT */
#include "fleet/lead/fleet_sums.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/profile_reader.h"
#include "observe/profile_sum.h"

/* Clocks that differ by no more are taken for the same one, whose rate was measured twice. */
#define SAME_CLOCK 0.001

void spex_fleet_sums_init(struct spex_fleet_sums *sums) {
    *sums = (struct spex_fleet_sums){.bytes_most = SPEX_FLEET_SUMS_BYTES};
}

static void rows_free(struct spex_fleet_sums *sums, struct spex_fleet_reports_instance *instance) {
    for (size_t r = 0; r < instance->count; r++) {
        sums->bytes -= spex_reported_row_bytes(&instance->rows[r]);
        spex_reported_row_free(&instance->rows[r]);
    }
    free(instance->rows);
    instance->rows = NULL;
    instance->count = 0;
}

void spex_fleet_sums_free(struct spex_fleet_sums *sums) {
    for (size_t i = 0; i < sums->count; i++)
        rows_free(sums, &sums->instances[i]);
    rows_free(sums, &sums->gone);
    free(sums->instances);
    free(sums->probes);
    free(sums->over);
    spex_fleet_sums_init(sums);
}

/* The FNV hash. */
static uint64_t hash(uint64_t sum, const void *data, size_t size) {
    const unsigned char *bytes = data;
    for (size_t b = 0; b < size; b++)
        sum = (sum ^ bytes[b]) * UINT64_C(0x100000001b3);
    return sum;
}

static uint64_t id_of(const char *host, const struct spex_fleet_reports_by *by, uint64_t began_ns) {
    uint64_t sum = hash(UINT64_C(0xcbf29ce484222325), host, strlen(host) + 1);
    sum = hash(sum, by->boot, strlen(by->boot) + 1);
    sum = hash(sum, &by->process, sizeof(by->process));
    sum = hash(sum, &by->loaded_ns, sizeof(by->loaded_ns));
    return hash(sum, &began_ns, sizeof(began_ns));
}

static bool is_over(const struct spex_fleet_sums *sums, uint64_t id) {
    for (size_t o = 0; sums->over && o < SPEX_FLEET_SUMS_OVER; o++)
        if (sums->over[o] == id)
            return true;
    return false;
}

static int note_over(struct spex_fleet_sums *sums, uint64_t id) {
    if (!sums->over)
        sums->over = calloc(SPEX_FLEET_SUMS_OVER, sizeof(*sums->over));
    if (!sums->over)
        return -ENOMEM;
    sums->over[sums->over_next++ % SPEX_FLEET_SUMS_OVER] = id;
    return 0;
}

/* The number of the probe, which is looked for at `likely` first; -E2BIG or -ENOMEM. */
static int number_of(struct spex_fleet_sums *sums, const struct spex_profile_probe *probe,
                     size_t likely) {
    if (likely < sums->probe_count && spex_profile_same_probe(&sums->probes[likely], probe))
        return (int)likely;
    for (size_t p = 0; p < sums->probe_count; p++)
        if (spex_profile_same_probe(&sums->probes[p], probe))
            return (int)p;
    if (sums->probe_count == SPEX_FLEET_PROBES_MAX)
        return -E2BIG;
    struct spex_profile_probe *grown =
        realloc(sums->probes, (sums->probe_count + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    sums->probes = grown;
    grown[sums->probe_count] = *probe;
    return (int)sums->probe_count++;
}

/* The index of the probe's row, or where it is to be inserted. */
static size_t row_at(const struct spex_fleet_reports_instance *instance, size_t number) {
    size_t low = 0, high = instance->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (instance->rows[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct spex_reported_row *row_of(const struct spex_fleet_reports_instance *instance,
                                              size_t number) {
    size_t at = row_at(instance, number);
    return at < instance->count && instance->rows[at].number == number ? &instance->rows[at] : NULL;
}

/* The row stands in place of the former one of its probe. */
static int row_set(struct spex_fleet_sums *sums, struct spex_fleet_reports_instance *instance,
                   const struct spex_reported_row *row) {
    size_t at = row_at(instance, row->number);
    if (at == instance->count || instance->rows[at].number != row->number) {
        struct spex_reported_row *grown =
            realloc(instance->rows, (instance->count + 1) * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        instance->rows = grown;
        memmove(&grown[at + 1], &grown[at], (instance->count++ - at) * sizeof(*grown));
    } else {
        sums->bytes -= spex_reported_row_bytes(&instance->rows[at]);
        spex_reported_row_free(&instance->rows[at]);
    }
    instance->rows[at] = *row;
    sums->bytes += spex_reported_row_bytes(row);
    return 0;
}

static void profile_row_free(struct spex_profile_row *row) {
    for (unsigned s = 0; s < SPEX_MAX_FIELDS; s++) {
        free((void *)(uintptr_t)row->values[s]);
        free((void *)(uintptr_t)row->losses[s]);
    }
}

/* Adds the report of one on a probe to those that are over. */
static int join_row(struct spex_fleet_sums *sums, const struct spex_reported_row *more) {
    const struct spex_reported_row *before = row_of(&sums->gone, more->number);
    struct spex_profile_row row = {.values = {NULL}};
    struct spex_reported_row joined;
    int err = before ? spex_reported_row_add(&row, before) : 0;
    err = err ? err : spex_reported_row_add(&row, more);
    /* Nothing is on there any more. */
    row.probe.period = row.probe.sites = row.probe.sites_on = 0;
    err = err ? err : spex_reported_row_of(&joined, more->number, &row, 1);
    profile_row_free(&row);
    if (err)
        return err;
    joined.between = more->between;
    joined.instances = more->instances + (before ? before->instances : 0);
    if (before)
        spex_reported_between_add(&joined.between, &before->between);
    err = row_set(sums, &sums->gone, &joined);
    if (err)
        spex_reported_row_free(&joined);
    return err;
}

/* Its report is added to the others that are over, and it is empty. */
static int join(struct spex_fleet_sums *sums, struct spex_fleet_reports_instance *instance) {
    int err = 0;
    while (instance->count && !err) {
        struct spex_reported_row *last = &instance->rows[instance->count - 1];
        err = join_row(sums, last);
        if (err)
            break;
        sums->bytes -= spex_reported_row_bytes(last);
        spex_reported_row_free(last);
        instance->count--;
    }
    if (err)
        return err;
    spex_reported_types_add(&sums->gone.types, &instance->types);
    sums->gone.threads += instance->threads;
    sums->gone.seconds = fmax(sums->gone.seconds, instance->seconds);
    sums->gone_count++;
    return 0;
}

/* The instance number `i` is over: another one takes its place. */
static int bury(struct spex_fleet_sums *sums, size_t i) {
    struct spex_fleet_reports_instance *instance = &sums->instances[i];
    int err = note_over(sums, instance->id);
    err = err ? err : join(sums, instance);
    if (err)
        return err;
    rows_free(sums, instance);
    sums->bytes -= sizeof(*instance);
    *instance = sums->instances[--sums->count];
    return 0;
}

/* Whether the process has become another program, or has begun another collection, since. */
static bool is_former(const struct spex_fleet_reports_instance *other,
                      const struct spex_fleet_reports_by *by, uint64_t began_ns) {
    return by->loaded_ns != other->by.loaded_ns ? by->loaded_ns < other->by.loaded_ns
                                                : began_ns < other->began_ns;
}

/* A new instance comes: those of the host are over whose process or machine has become another
 * one. 0, -ENOMEM, or SPEX_FLEET_OVER: it is a former one itself. */
static int bury_former(struct spex_fleet_sums *sums, const char *host,
                       const struct spex_fleet_reports_by *by, uint64_t began_ns) {
    int err = 0;
    for (size_t i = sums->count; i-- > 0 && !err;) {
        const struct spex_fleet_reports_instance *other = &sums->instances[i];
        if (strcmp(other->host, host) != 0)
            continue;
        bool rebooted = strcmp(other->by.boot, by->boot) != 0;
        if (!rebooted && other->by.process == by->process && is_former(other, by, began_ns))
            return SPEX_FLEET_OVER;
        if (rebooted || other->by.process == by->process)
            err = bury(sums, i);
    }
    return err;
}

int spex_fleet_sums_age(struct spex_fleet_sums *sums, double now) {
    int err = 0;
    for (size_t i = sums->count; i-- > 0 && !err;)
        if (now - sums->instances[i].heard > SPEX_FLEET_SUMS_SILENT)
            err = bury(sums, i);
    return err;
}

/* Whether there is room for a message, for which the one that was silent longest may go. */
static bool has_room(struct spex_fleet_sums *sums, double now) {
    while (sums->bytes > sums->bytes_most || sums->count >= SPEX_FLEET_SUMS_INSTANCES) {
        size_t oldest = 0;
        for (size_t i = 1; i < sums->count; i++)
            if (sums->instances[i].heard < sums->instances[oldest].heard)
                oldest = i;
        if (!sums->count || now - sums->instances[oldest].heard < SPEX_FLEET_SUMS_LEAST ||
            bury(sums, oldest) != 0)
            return false;
    }
    return true;
}

static struct spex_fleet_reports_instance *instance_of(struct spex_fleet_sums *sums, uint64_t id) {
    for (size_t i = 0; i < sums->count; i++)
        if (sums->instances[i].id == id)
            return &sums->instances[i];
    return NULL;
}

/* NULL: no memory. */
static struct spex_fleet_reports_instance *instance_add(struct spex_fleet_sums *sums,
                                                        const char *host,
                                                        const struct spex_fleet_reports_by *by,
                                                        uint64_t began_ns) {
    struct spex_fleet_reports_instance *grown = sums->instances;
    /* A power of two: the array is full. */
    if (!(sums->count & (sums->count - 1)))
        grown = realloc(sums->instances, (sums->count ? 2 * sums->count : 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    sums->instances = grown;
    struct spex_fleet_reports_instance *instance = &grown[sums->count++];
    *instance = (struct spex_fleet_reports_instance){
        .id = id_of(host, by, began_ns), .by = *by, .began_ns = began_ns};
    snprintf(instance->host, sizeof(instance->host), "%s", host);
    sums->bytes += sizeof(*instance);
    return instance;
}

static double factor_of(const struct spex_fleet_sums *sums, double ticks_per_second) {
    double factor = sums->ticks_per_second / ticks_per_second;
    return fabs(factor - 1) > SAME_CLOCK ? factor : 1;
}

static int take_row(struct spex_fleet_sums *sums, struct spex_fleet_reports_instance *instance,
                    const struct spex_profile_row *from, size_t number, double factor) {
    struct spex_reported_row row;
    int err = spex_reported_row_of(&row, number, from, factor);
    if (err)
        return err;
    err = row_set(sums, instance, &row);
    if (err)
        spex_reported_row_free(&row);
    return err;
}

/* Mostly the probes come in the order of their numbers. */
static int take_rows(struct spex_fleet_sums *sums, struct spex_fleet_reports_instance *instance,
                     const struct spex_profile *profile) {
    double factor = factor_of(sums, profile->process.ticks_per_second);
    size_t likely = 0;
    int err = 0;
    for (size_t r = 0; r < profile->row_count && !err; r++) {
        int number = number_of(sums, &profile->rows[r].probe, likely);
        if (number == -E2BIG) {
            sums->probes_left_out++;
            continue;
        }
        if (number < 0)
            return number;
        likely = (size_t)number + 1;
        err = take_row(sums, instance, &profile->rows[r], (size_t)number, factor);
    }
    spex_reported_types_of(&instance->types, profile, factor);
    return err;
}

static int take_profile(struct spex_fleet_sums *sums, struct spex_fleet_reports_instance *instance,
                        const struct spex_profile *profile, double now) {
    const struct spex_profile_process *process = &profile->process;
    if (process->seconds < instance->seconds)
        return SPEX_FLEET_STALE;
    instance->heard = now;
    instance->seconds = process->seconds;
    instance->threads = process->threads;
    memcpy(instance->program, process->command, sizeof(instance->program));
    return take_rows(sums, instance, profile);
}

/* Nothing more comes of the process. */
static int take_gone(struct spex_fleet_sums *sums, const char *host,
                     const struct spex_fleet_reports_by *by) {
    int err = 0;
    for (size_t i = sums->count; i-- > 0 && !err;) {
        const struct spex_fleet_reports_instance *other = &sums->instances[i];
        if (other->by.process == by->process && strcmp(other->host, host) == 0 &&
            strcmp(other->by.boot, by->boot) == 0 && other->by.loaded_ns == by->loaded_ns)
            err = bury(sums, i);
    }
    return err;
}

static int take(struct spex_fleet_sums *sums, const char *host,
                const struct spex_fleet_reports_by *by, const struct spex_profile *profile,
                double now) {
    uint64_t began_ns = profile->process.began_ns, id = id_of(host, by, began_ns);
    struct spex_fleet_reports_instance *instance = instance_of(sums, id);
    if (profile->process.ticks_per_second <= 0)
        return SPEX_FLEET_STALE;
    if (!instance && is_over(sums, id))
        return SPEX_FLEET_OVER;
    int err = instance ? 0 : bury_former(sums, host, by, began_ns);
    if (err)
        return err;
    if (!has_room(sums, now))
        return SPEX_FLEET_NO_ROOM;
    /* Others may have moved. */
    instance = instance_of(sums, id);
    if (!instance)
        instance = instance_add(sums, host, by, began_ns);
    if (!instance)
        return -ENOMEM;
    if (sums->ticks_per_second <= 0)
        sums->ticks_per_second = profile->process.ticks_per_second;
    return take_profile(sums, instance, profile, now);
}

int spex_fleet_sums_take(struct spex_fleet_sums *sums, const char *host,
                         const struct spex_fleet_reports_by *by, const struct spex_profile *profile,
                         double now) {
    int taken = by->gone ? take_gone(sums, host, by) : take(sums, host, by, profile, now);
    sums->messages++;
    if (taken > 0)
        sums->refused[taken]++;
    return taken;
}

const struct spex_fleet_reports_instance *spex_fleet_sums_find(const struct spex_fleet_sums *sums,
                                                               const char *host, int32_t process) {
    for (size_t i = 0; i < sums->count; i++)
        if (sums->instances[i].by.process == process && strcmp(sums->instances[i].host, host) == 0)
            return &sums->instances[i];
    return NULL;
}

static int add_told(struct spex_fleet_sum *sum, struct spex_reported_types *types, size_t probe,
                    const struct spex_fleet_reports_instance *instance) {
    struct spex_profile_process *process = &sum->profile.process;
    const struct spex_reported_row *row = row_of(instance, probe);
    if (!row)
        return 0;
    process->threads += instance->threads;
    process->seconds = fmax(process->seconds, instance->seconds);
    spex_reported_types_add(types, &instance->types);
    spex_reported_between_add(&sum->between, &row->between);
    sum->instances += row->instances;
    return spex_reported_row_add(&sum->profile.rows[0], row);
}

int spex_fleet_sums_of(const struct spex_fleet_sums *sums, size_t probe,
                       const struct spex_fleet_reports_instance *instance,
                       struct spex_fleet_sum *sum) {
    struct spex_reported_types types = {.count = 0};
    *sum = (struct spex_fleet_sum){
        .profile = {.process = {.ticks_per_second = sums->ticks_per_second}, .row_count = 1}};
    sum->profile.rows = calloc(1, sizeof(*sum->profile.rows));
    int err = sum->profile.rows ? 0 : -ENOMEM;
    if (!err && !instance)
        err = add_told(sum, &types, probe, &sums->gone);
    for (size_t i = 0; !instance && i < sums->count && !err; i++)
        err = add_told(sum, &types, probe, &sums->instances[i]);
    if (instance && !err)
        err = add_told(sum, &types, probe, instance);
    err = err ? err : spex_reported_types_profile(&types, &sum->profile);
    if (err)
        spex_profile_free(&sum->profile);
    return err;
}
