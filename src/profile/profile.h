/* SPDX-License-Identifier: MIT */
/* A profile: the figures of a process's probes at a moment. The process itself prints one as its
 * table; a command receives one through the control socket. The structures are the socket's format:
 * members are only added at the end, and a receiver ignores members that it does not know.
 *
 *   process   one: the process and its rings
 *   type      one for each probe type, one more for each performance counter
 *   site      one for each site that is or was loaded, in the order of their indices
 *   probe     one for each probe that is or was on: its sites, its records
 *   values    with each probe: moments and histogram of each of its values */
#ifndef SPEX_PROFILE_PROFILE_H
#define SPEX_PROFILE_PROFILE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

#include "base/grown.h"
#include "base/line.h"
#include "profile/share.h"
#include "ring/probe_type.h"
#include "site/sampling.h"
#include "stats/occupancy.h"
#include "stats/values.h"

#define SPEX_PROFILE_NAME_BYTES 64
#define SPEX_PROFILE_FILE_BYTES 128
#define SPEX_PROFILE_TEXT_BYTES 256

/* Stands in place of a selection that is too long for a profile. */
#define SPEX_PROFILE_LONG_SELECTION "a long selection"

struct spex_profile_process {
    uint32_t process_id; /* as the process itself sees it */
    uint32_t commit;     /* enum spex_commit */
    uint32_t ring_cpus;
    uint32_t threads; /* threads whose state exists */
    uint64_t ring_bytes;
    double ticks_per_second;  /* 0: not known yet */
    double seconds;           /* since the collection began; 0: no records are collected */
    double program_seconds;   /* CPU time of the process since then, without spex's own threads */
    double collector_seconds; /* CPU time of spex's own threads since then */
    uint64_t produced;        /* records since then, as are the next four */
    uint64_t consumed;
    uint64_t lost;
    uint64_t undelivered;
    uint64_t unrecorded;
    uint32_t sites;
    uint32_t sites_on;
    uint32_t sites_refused;
    uint32_t elsewhere; /* 1: records go to another process, and no metrics are made here */
    char command[SPEX_PROFILE_NAME_BYTES];
    /* The selection without leases, in the users' syntax; its beginning. */
    char selection[SPEX_PROFILE_TEXT_BYTES];
    /* When the program was loaded, CLOCK_MONOTONIC: exec loads another into the same process. */
    uint64_t loaded_ns;
    /* The budget, as a share of the program's CPU time; 0: none. */
    double budget;
    /* CPU time of the program while the budget held, without spex's own threads, taken as 1 % of a CPU
     * at least; and the estimate of what probes and these threads took. */
    double budget_seconds;
    double budget_spent;
    /* The policy that divides the budget; empty: not known. */
    char rate_policy[SPEX_PROFILE_NAME_BYTES];
    /* What holds beside `selection` for a while, in the same syntax, its beginning; "+" in front:
     * besides, otherwise instead; empty: nothing. And until the last lease ends
     * (spex_profile_lease_text). */
    char leased[SPEX_PROFILE_TEXT_BYTES];
    double lease_seconds;
    /* When the collection began, CLOCK_MONOTONIC_RAW: with loaded_ns it tells collections apart. 0:
     * none goes on. */
    uint64_t began_ns;
    /* Children of forks since then in which probes are off until they start spex themselves. */
    uint64_t unfollowed;
    /* Records that a ring holds, where all that were ever in the rings are of this collection, and
     * their file comes with the profile; 0: not so. */
    uint32_t ring_records;
    /* Those of `sites` whose library is loaded. */
    uint32_t sites_loaded;
    /* Until the first lease ends. */
    double lease_first_seconds;
    /* When the process began to make this profile, in ticks; 0: not known. */
    uint64_t made_ticks;
};

/* The types of a profile: the probe types, PERFCNTR once for each counter. */
#define SPEX_PROFILE_TYPES (SPEX_PROBE_TYPES + SPEX_PERFCNTRS - 1)

struct spex_profile_type {
    uint32_t probe_type;
    uint32_t pcid;     /* of PERFCNTR */
    uint32_t used;     /* a site of it is or was on */
    uint32_t measured; /* the costs are known */
    /* Costs in ticks: of a site that is off, of an execution without a record, and of a record. */
    double test;
    double skip;
    double record;
    uint64_t produced; /* records of this type, since records are collected */
    uint64_t lost;
    /* How its values are read, or why they are not; may be empty. */
    char text[SPEX_PROFILE_TEXT_BYTES];
    /* Cost of a polled execution, in ticks. */
    double polled;
    /* What a span of nothing reads, in ticks, and by how much single readings differ from that
     * (standard deviation); 0: not known, or the values are no times. */
    double empty;
    double empty_error;
    /* Cost of a record that chance has chosen, in ticks; 0: not known. */
    double drawn;
};

#define SPEX_PROFILE_NO_ID UINT32_MAX

struct spex_profile_site {
    uint32_t index;
    uint32_t line;
    uint32_t subsample;
    uint32_t period;   /* 0: off */
    uint16_t probe_id; /* the probe's number in the process (site_info.h) */
    uint16_t probe_type;
    uint16_t detail;
    uint16_t reserved;
    uint32_t loaded;                    /* 0: its library is gone */
    char name[SPEX_PROFILE_NAME_BYTES]; /* empty: none */
    char file[SPEX_PROFILE_FILE_BYTES]; /* its end when it is longer */
    uint32_t kind;                      /* enum spex_sampling_kind, while it is on */
    uint32_t burst;
    /* Of a KERNEL, or values of a SNAPSHOT, as much of them as fits; empty: none. */
    char parameters[SPEX_PROFILE_FILE_BYTES];
    char provider[SPEX_PROFILE_NAME_BYTES]; /* empty: not known */
    /* 1 + the developer's id; 0: it is probe_id; SPEX_PROFILE_NO_ID: none. */
    uint32_t declared;
    /* Milliseconds until the lease ends by which it is on, or off; 0: by none. */
    uint32_t lease_ms;
    /* Of the fields of its records, as these have them. */
    uint32_t kinds;
};

/* The slowest recorded execution of a probe of times, of the last 10 to 20 s. */
struct spex_profile_slowest {
    uint64_t ticks;       /* 0: there is none */
    uint64_t realtime_ns; /* CLOCK_REALTIME at its end */
    uint32_t thread_id;
    uint32_t cpu_id;
    uint32_t process_id; /* as the process itself sees it */
    uint32_t reserved;
};

struct spex_profile_probe {
    uint32_t probe_type;
    uint16_t probe_id;
    uint16_t series;
    uint32_t sites; /* loaded */
    uint32_t sites_on;
    uint32_t period;      /* the shortest of its sites', 0: off */
    uint32_t lost_shared; /* 1: `lost` is estimated: the probe's share of its type's losses */
    double on_seconds;
    double count; /* executions while it was on, those of lost records included */
    double weight_squares;
    double lost; /* records; exact where each execution makes one, else an estimate */
    uint64_t records;
    uint64_t marked[SPEX_MARKS]; /* records with each mark of enum spex_mark */
    char name[SPEX_PROFILE_NAME_BYTES];
    double count_variance; /* variance of `count`, an estimate in regions; 0: exact */
    uint32_t period_last;  /* as `period`, but while it is off what it was before */
    uint32_t kind;         /* enum spex_sampling_kind of that period */
    double weight;         /* executions that the records stand for, but for losses */
    uint32_t burst;        /* of bursty sampling */
    uint32_t reserved;
    /* The part of on_seconds in which it was polled, and its executions were not counted. */
    double polled_seconds;
    /* The looks at it in that time. */
    struct spex_occupancy activity;
    /* Seconds for which the budget kept it off, and how far `count` with `held_count` may be off
     * for the executions that were not counted as the budget kept it off or polled it. */
    double held_seconds;
    double uncounted;
    char provider[SPEX_PROFILE_NAME_BYTES]; /* as those of its sites */
    uint32_t declared;
    /* What it costs as a multiple of what was calibrated, as experiments of a budget have measured
     * while the program ran; 0: they have not, and its cost is taken as calibrated. */
    float cost_factor;
    /* Executions that were looked at: their times in ticks (x), and what probes within them took of
     * that by their calibrated costs (y). */
    struct spex_line_sums nested;
    /* Executions in held_seconds, as slices of the time tell, or at least so many (spex_profile_held_is_bound); 0:
     * they do not. */
    double held_count;
    /* SPAN: spans that are open, have never ended, and were not recorded for want of room; ENDs
     * without BEGIN; and 1: these are not told, since not each BEGIN made a record. */
    uint64_t spans_open;
    uint64_t spans_abandoned;
    uint64_t spans_refused;
    uint64_t spans_unmatched;
    uint32_t spans_partial;
    /* 1: another site of it was refused, and nobody counts the executions there. */
    uint32_t refused;
    struct spex_profile_slowest slowest;
    char why[SPEX_PROFILE_TEXT_BYTES]; /* reason for its period; empty: as selected */
};

struct spex_profile_row {
    struct spex_profile_probe probe;
    const struct spex_values *values[SPEX_MAX_FIELDS]; /* the first probe.series of them */
    /* `losses` of spex_values_weigh for each of them; NULL: no record is next to a loss. */
    const struct spex_values *losses[SPEX_MAX_FIELDS];
};

struct spex_profile {
    struct spex_profile_process process;
    struct spex_profile_type *types;
    size_t type_count;
    struct spex_profile_site *sites;
    size_t site_count;
    struct spex_profile_row *rows;
    size_t row_count;
    /* The user whose share its memory counts for; NULL: it is not counted. */
    struct spex_share *share;
    size_t bytes;
};

/* The developer's id of a site or probe; -1: it has a name in its place. */
static inline int32_t spex_profile_id(uint16_t probe_id, uint32_t declared) {
    if (declared > UINT16_MAX + 1u)
        return -1;
    return declared ? (int32_t)declared - 1 : probe_id;
}

/* Probes whose cost was measured while the program ran. */
size_t spex_profile_measured(const struct spex_profile *profile);

/* Whether the probes of the rows, or of the sites, have several providers. Then they are shown with
 * them. */
bool spex_profile_rows_mixed(const struct spex_profile *profile);
bool spex_profile_sites_mixed(const struct spex_profile *profile);

/* How the site's executions are sampled now. Period 0: it is off. */
static inline struct spex_sampling spex_profile_sampling(const struct spex_profile_site *site) {
    return (struct spex_sampling){.period = site->period, .burst = site->burst, .kind = site->kind};
}

/* Mean number of executions that a record stands for, at least 1; 0 where there are no records. */
static inline double spex_profile_one_in(const struct spex_profile_probe *probe) {
    return probe->records ? fmax(probe->weight / (double)probe->records, 1) : 0;
}

/* Records whose times are in no figure, since they contain the making ready of a counter. */
static inline uint64_t spex_profile_left_out(const struct spex_profile_probe *probe) {
    return spex_probe_type_ticks(probe->probe_type) ? probe->marked[0] : 0;
}

/* Whether each execution makes a record, so that those without one are the lost ones. */
static inline bool spex_profile_in_full(const struct spex_profile_probe *probe) {
    return probe->period_last == 1 && probe->kind == SPEX_SAMPLING_PERIODIC &&
           probe->weight <= (double)probe->records && probe->count_variance <= 0;
}

/* Whether the probe is polled, or was when it was last on. */
static inline bool spex_profile_polled(const struct spex_profile_probe *probe) {
    return probe->kind == SPEX_SAMPLING_POLLING;
}

/* Seconds for which it was on and its executions were counted. */
static inline double spex_profile_counted_seconds(const struct spex_profile_probe *probe) {
    return probe->on_seconds > probe->polled_seconds ? probe->on_seconds - probe->polled_seconds
                                                     : 0;
}

/* Whether its executions were counted: not where it was always polled. */
static inline bool spex_profile_counted(const struct spex_profile_probe *probe) {
    return probe->count > 0 || !probe->activity.looks || spex_profile_counted_seconds(probe) > 0;
}

/* Executions, those included that are estimated by slices of the time. */
static inline double spex_profile_executions(const struct spex_profile_probe *probe) {
    return probe->count + probe->held_count;
}

/* Whether `held_count` is no estimate, but what slices tell of it at least: far more may have been executed. */
static inline bool spex_profile_held_is_bound(const struct spex_profile_probe *probe) {
    return probe->held_count > 0 && probe->uncounted > spex_profile_executions(probe);
}

/* Executions at least. */
static inline double spex_profile_executions_least(const struct spex_profile_probe *probe) {
    return probe->count + (spex_profile_held_is_bound(probe) ? probe->held_count : 0);
}

/* Executions a second in the time of which they are told; 0 where there was none. */
static inline double spex_profile_rate(const struct spex_profile_probe *probe) {
    double held = probe->held_count > 0 ? probe->held_seconds : 0;
    double seconds = spex_profile_counted_seconds(probe);
    return seconds > 0 ? spex_profile_executions(probe) / (seconds + held) : 0;
}

/* Executions that have ended, which all but some of a SPAN's have. Of those the probe knows the
 * ones that it has chosen, which stand for others. */
static inline double spex_profile_ended(const struct spex_profile_probe *probe) {
    double without = (double)probe->spans_open + (double)probe->spans_abandoned;
    return fmax(spex_profile_executions(probe) - without * fmax(spex_profile_one_in(probe), 1), 0);
}

/* Mean number of executions for each record: also of those of which none was to be made for a while, if
 * they are more than chance explains. 0 where there are no records. */
static inline double spex_profile_per_record(const struct spex_profile_probe *probe) {
    double weight = probe->weight, one_in = spex_profile_one_in(probe);
    double gone = spex_profile_ended(probe) - probe->held_count - probe->lost - weight;
    bool chance = gone <= fmax(one_in, sqrt(fmax(probe->weight_squares, 0)));
    return chance || !probe->records ? one_in : (weight + gone) / (double)probe->records;
}

/* The share of the time for which the budget held it off. */
static inline double spex_profile_off(const struct spex_profile_probe *probe) {
    double selected = probe->on_seconds + probe->held_seconds;
    return selected > 0 ? probe->held_seconds / selected : 0;
}

/* The order of rows, by number and then type: for qsort and bsearch. */
int spex_profile_row_order(const void *a, const void *b);

/* The row of a probe, of rows in that order; NULL: there is none. */
const struct spex_profile_row *spex_profile_row_of(const struct spex_profile *profile,
                                                   uint16_t probe_id, uint32_t probe_type);

/* The first entry of a type, which holds its costs; NULL: there is none. */
const struct spex_profile_type *spex_profile_type_of(const struct spex_profile *profile,
                                                     uint32_t probe_type);

/* Whether the costs of all types that have records are known. */
bool spex_profile_costs_known(const struct spex_profile *profile);

/* The share of the program's CPU time that the probe must cost more for its mean to have an interval
 * half as wide: three times its records more, or all that are missing. 0: it is not known, or none
 * are missing. */
double spex_profile_halving(const struct spex_profile *profile,
                            const struct spex_profile_probe *probe);

/* Seconds that a row's probe has cost the program, for records and for executions without one; 0
 * where the costs are not known. */
double spex_profile_row_cost(const struct spex_profile *profile,
                             const struct spex_profile_probe *probe);

/* How long what is leased still holds, "42 s", or from the first end to the last, "10 to 42 s".
 * Returns `text`. */
const char *spex_profile_lease_text(const struct spex_profile_process *process, char *text,
                                    size_t size);

/* The sum over all rows; no more than the program's CPU time, of which it is a part. */
double spex_profile_cost(const struct spex_profile *profile);

/* What stands before that sum: "at least " where the costs of some are not known, "at most " where
 * it would be more than the program's CPU time. */
const char *spex_profile_cost_bound(const struct spex_profile *profile);

#endif
