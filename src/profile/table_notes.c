/* SPDX-License-Identifier: MIT */
/* Each function prints one line, or part of one, and nothing where it has nothing to say. What is
 * estimated from measured costs is said to be so ("as believed"). Brief notes tell costs, losses, and
 * what makes figures untrue. */
#include "profile/table_notes.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "profile/columns.h"
#include "profile/figures.h"
#include "profile/table.h"
#include "ring/probe_type.h"
#include "site/provider.h"
#include "text/plain_numbers.h"
#include "text/quantity.h"

#include "queues/ring.h"

/* Whether any entry of the type is used: PERFCNTR has one for each counter, and the first has the
 * costs. */
static bool type_used(const struct spex_profile *profile, uint32_t probe_type) {
    for (size_t t = 0; t < profile->type_count; t++)
        if (profile->types[t].probe_type == probe_type && profile->types[t].used)
            return true;
    return false;
}

/* Prints the measured costs of the types that are used. Skipping costs much the same for all
 * types: the greatest is printed. */
static void print_costs(FILE *file, const struct spex_profile *profile) {
    const char *between = "; a record costs";
    double skip = -1, ns_per_tick = 1e9 / profile->process.ticks_per_second;
    for (size_t t = 0; t < profile->type_count; t++) {
        const struct spex_profile_type *type = &profile->types[t];
        if (!type->measured || type->pcid || !type_used(profile, type->probe_type))
            continue;
        double ns = type->record * ns_per_tick;
        fprintf(file, "%s %s %.3g %s", between, spex_probe_type_name(type->probe_type),
                ns < 1000 ? ns : ns / 1000, ns < 1000 ? "ns" : "µs");
        between = ",";
        skip = type->skip > skip ? type->skip : skip;
    }
    if (skip >= 0)
        fprintf(file, ", a skipped execution %.2g ns", skip * ns_per_tick);
}

/* Whether any probe has been polled. */
static bool any_polled(const struct spex_profile *profile) {
    for (size_t r = 0; r < profile->row_count; r++)
        if (profile->rows[r].probe.activity.looks)
            return true;
    return false;
}

/* Prints the cost of a polled execution, which is the same for all types. */
static void print_polled_cost(FILE *file, const struct spex_profile *profile) {
    double ns_per_tick = 1e9 / profile->process.ticks_per_second;
    for (size_t t = 0; t < profile->type_count; t++)
        if (profile->types[t].polled > 0) {
            fprintf(file, ", a polled one %.2g ns", profile->types[t].polled * ns_per_tick);
            return;
        }
}

/* Prints how records are made, and what one costs. Without rings the profile was made of a trace
 * that has none of the program. */
static void print_engine(FILE *file, const struct spex_profile *profile) {
    const struct spex_profile_process *process = &profile->process;
    if (!process->ring_bytes)
        return;
    fprintf(file, "rings: %s, %u CPUs, %.1f MiB reserved",
            process->commit == SPEX_COMMIT_RSEQ ? "restartable sequences" : "atomic instructions",
            process->ring_cpus, (double)process->ring_bytes / (1 << 20));
    if (process->ticks_per_second > 0)
        print_costs(file, profile);
    if (process->ticks_per_second > 0 && any_polled(profile))
        print_polled_cost(file, profile);
    fputc('\n', file);
}

/* Writes the share of the program's CPU time. */
static const char *share_text(const struct spex_profile *profile, double seconds, char *text,
                              size_t size) {
    double share = seconds / profile->process.program_seconds;
    return spex_percent_text(share, share < 1 ? 2 : 3, text, size);
}

/* Prints the estimated overhead: counts times calibrated costs. */
static void print_overhead(FILE *file, const struct spex_profile *profile) {
    const struct spex_profile_process *process = &profile->process;
    double cost = spex_profile_cost(profile);
    char probes[32], own[32];
    if (process->program_seconds <= 0)
        return;
    if (cost > 0 || spex_profile_costs_known(profile))
        fprintf(file, "overhead, as believed: probes %s%s of the CPU time",
                spex_profile_cost_bound(profile),
                share_text(profile, cost, probes, sizeof(probes)));
    else
        fputs("overhead: of probes not known", file);
    fprintf(file, ", spex's own threads %s\n",
            share_text(profile, process->collector_seconds, own, sizeof(own)));
}

/* Prints the CPU times from which the overhead is calculated. */
static void print_times(FILE *file, const struct spex_profile *profile) {
    const struct spex_profile_process *process = &profile->process;
    char probes[32], program[32], own[32];
    if (process->program_seconds <= 0)
        return;
    fprintf(file, "CPU time: program %s, probes %s%s, spex's own threads %s\n",
            spex_duration_text(process->program_seconds, program, sizeof(program)),
            spex_profile_cost_bound(profile),
            spex_duration_text(spex_profile_cost(profile), probes, sizeof(probes)),
            spex_duration_text(process->collector_seconds, own, sizeof(own)));
}

/* Prints what was taken off the times, as a span of nothing reads that. */
static void print_empty(FILE *file, const struct spex_profile *profile) {
    const char *between = "times are without what the clock itself takes:";
    double ns_per_tick = 1e9 / profile->process.ticks_per_second;
    for (size_t t = 0; t < profile->type_count && profile->process.ticks_per_second > 0; t++) {
        const struct spex_profile_type *type = &profile->types[t];
        if (!type->used || !type->measured || type->empty <= 0)
            continue;
        fprintf(file, "%s %s %.3g ns ±%.2g", between, spex_probe_type_name(type->probe_type),
                type->empty * ns_per_tick, type->empty_error * ns_per_tick);
        between = ",";
    }
    if (between[0] == ',')
        fputc('\n', file);
}

/* Prints what was taken off a probe's times for the probes within it. */
static void print_nested(FILE *file, const struct spex_profile *profile,
                         const struct spex_profile_row *row, bool mixed) {
    struct spex_figures figures;
    char name[SPEX_PROBE_TEXT_BYTES], taken[32], margin[32];
    if (!row->probe.series || row->probe.nested.y <= 0 || profile->process.ticks_per_second <= 0)
        return;
    spex_figures_of(profile, row, 0, &figures);
    spex_duration_text(figures.nested / profile->process.ticks_per_second, taken, sizeof(taken));
    spex_duration_text(figures.nested_margin / profile->process.ticks_per_second, margin,
                       sizeof(margin));
    if (figures.nested > 0)
        fprintf(file, "%s %s: times are without what probes within take, on average %s ±%s\n",
                spex_probe_text(&row->probe, mixed, name, sizeof(name)),
                spex_probe_type_name(row->probe.probe_type), taken, margin);
}

/* Whether the budget is a share of more than what the program has used. */
static bool waits_mostly(const struct spex_profile_process *process) {
    return process->budget_seconds > 1.1 * process->program_seconds;
}

/* Prints the budget, and the controller's estimate of what was used. Two shares that are printed alike
 * are not told as exceeded. */
static void print_budget(FILE *file, const struct spex_profile *profile) {
    const struct spex_profile_process *process = &profile->process;
    double used = process->budget_seconds > 0 ? process->budget_spent / process->budget_seconds : 0;
    char budget[32], used_text[32];
    spex_percent_text(process->budget, 4, budget, sizeof(budget));
    spex_percent_text(used, 2, used_text, sizeof(used_text));
    fprintf(file, "budget: %s of the program's CPU time%s; as believed, %s was used%s\n", budget,
            waits_mostly(process) ? " (1 % of a CPU at least)" : "", used_text,
            used > process->budget && strcmp(used_text, budget) != 0 ? ": exceeded" : "");
}

/* Prints how much CPU time was used, and the program's CPU time while the budget held; then the policy,
 * and whether the costs of probes were measured. */
static void print_budget_times(FILE *file, const struct spex_profile *profile) {
    const struct spex_profile_process *process = &profile->process;
    char spent[32], all[32];
    if (process->budget <= 0)
        return;
    fprintf(file, "budget: %s used, including spex's own threads, of %s",
            spex_duration_text(process->budget_spent, spent, sizeof(spent)),
            spex_duration_text(process->budget_seconds, all, sizeof(all)));
    if (process->rate_policy[0])
        fprintf(file, "; shared out by %s", process->rate_policy);
    fputc('\n', file);
    if (spex_profile_measured(profile))
        fprintf(file,
                "costs: of %zu of %zu probes measured while the program ran, else calibrated\n",
                spex_profile_measured(profile), profile->row_count);
    else if (profile->row_count)
        fputs("costs: as calibrated, not measured while the program ran\n", file);
}

/* The relative margin of the mean of a row's first values. Negative: it is not known, or all is
 * recorded. */
static double mean_width(const struct spex_profile *profile, const struct spex_profile_row *row) {
    struct spex_figures figures;
    if (!row->probe.series || spex_profile_halving(profile, &row->probe) <= 0)
        return -1;
    spex_figures_of(profile, row, 0, &figures);
    bool told = figures.any && figures.mean_margin > 0 && fabs(figures.mean) > 0;
    return told ? figures.mean_margin / fabs(figures.mean) : -1;
}

/* Means that are known worst, the worst first. */
enum { WIDEST = 3 };

struct wide_mean {
    const struct spex_profile_row *row;
    double width;
};

static void widest_find(const struct spex_profile *profile, struct wide_mean widest[WIDEST]) {
    for (size_t r = 0; r < profile->row_count; r++) {
        const struct wide_mean one = {&profile->rows[r], mean_width(profile, &profile->rows[r])};
        for (int w = WIDEST - 1; w >= 0 && widest[w].width < one.width; w--) {
            if (w + 1 < WIDEST)
                widest[w + 1] = widest[w];
            widest[w] = one;
        }
    }
}

/* Prints what a wider budget buys: what halving the interval of a mean costs. */
static void print_halving(FILE *file, const struct spex_profile *profile, bool mixed) {
    struct wide_mean widest[WIDEST] = {{NULL, 0}};
    char name[SPEX_PROBE_TEXT_BYTES], margin[32], more[32];
    if (profile->process.budget > 0)
        widest_find(profile, widest);
    for (int w = 0; w < WIDEST && widest[w].row; w++) {
        const struct spex_profile_probe *probe = &widest[w].row->probe;
        double share = spex_profile_halving(profile, probe);
        fprintf(file, "%s %s %s (±%s) %s",
                w ? "," : "half the interval of a mean takes more of the CPU time:",
                spex_probe_text(probe, mixed, name, sizeof(name)),
                spex_probe_type_name(probe->probe_type),
                spex_percent_text(widest[w].width, 2, margin, sizeof(margin)),
                spex_percent_text(share, 2, more, sizeof(more)));
    }
    if (widest[0].row)
        fputc('\n', file);
}

/* Whether records of the type lack values, or have them estimated. */
static bool type_lacks_values(const struct spex_profile *profile, uint32_t probe_type) {
    for (size_t r = 0; r < profile->row_count; r++) {
        const struct spex_profile_probe *probe = &profile->rows[r].probe;
        if (probe->probe_type == probe_type && (probe->marked[1] || probe->marked[2]))
            return true;
    }
    return false;
}

/* Prints how the values of a type are read. Brief notes do so only where values are missing or
 * estimated. */
static void print_counters(FILE *file, const struct spex_profile *profile, bool verbose) {
    for (size_t t = 0; t < profile->type_count; t++)
        if (profile->types[t].used && profile->types[t].text[0] &&
            (verbose || type_lacks_values(profile, profile->types[t].probe_type)))
            fprintf(file, "%s: %s\n", spex_probe_type_name(profile->types[t].probe_type),
                    profile->types[t].text);
}

/* Prints how many of a probe's records have marks. The texts are in the order of enum spex_mark. The
 * first mark is usual: the first record of each thread has it. */
static void print_marks(FILE *file, const struct spex_profile_probe *probe, bool mixed,
                        bool verbose) {
    static const char *const texts[] = {
        "include the making ready of their thread or counter",
        "have values estimated from a part of the time, as counters were shared",
        "have no values: no counter was there, or they ended on another thread",
    };
    enum { TOLD = sizeof(texts) / sizeof(texts[0]) };
    char name[SPEX_PROBE_TEXT_BYTES];
    for (unsigned m = verbose ? 0 : 1; m < TOLD; m++)
        if (probe->marked[m])
            fprintf(file, "%s %s: %" PRIu64 " of %" PRIu64 " records %s%s\n",
                    spex_probe_text(probe, mixed, name, sizeof(name)),
                    spex_probe_type_name(probe->probe_type), probe->marked[m], probe->records,
                    texts[m],
                    m == 0 && spex_profile_left_out(probe) ? ", and are left out of times" : "");
}

/* Adds a part of the note about a SPAN, where there is something to count. */
static void print_part(FILE *file, const char **before, uint64_t count, const char *what) {
    if (count)
        fprintf(file, "%s%" PRIu64 " %s", *before, count, what);
    *before = count ? ", " : *before;
}

/* Prints what has become of a SPAN's executions that have no time. Open ones are usual, and only in
 * verbose notes. */
static void print_spans(FILE *file, const struct spex_profile_probe *probe, bool mixed,
                        bool verbose) {
    char name[SPEX_PROBE_TEXT_BYTES], before[SPEX_PROBE_TEXT_BYTES + 16];
    uint64_t unmatched = probe->spans_partial ? 0 : probe->spans_unmatched;
    if (!verbose && !probe->spans_abandoned && !probe->spans_refused && !unmatched)
        return;
    snprintf(before, sizeof(before),
             "%s span: ", spex_probe_text(probe, mixed, name, sizeof(name)));
    const char *between = before;
    print_part(file, &between, probe->spans_open,
               probe->held_seconds > 0 ? "open, whose END has not come while it was on"
                                       : "open, whose END has not come");
    print_part(file, &between, probe->spans_abandoned, "abandoned, whose END never came");
    print_part(file, &between, unmatched,
               "ENDs without a BEGIN, or with one from before the probe was on");
    print_part(file, &between, probe->spans_refused, "not recorded for want of room");
    if (between != before)
        fputc('\n', file);
}

/* Says how many of a row's records have values that are in no figure, which only a snapshot's are. */
static void print_left_out(FILE *file, const struct spex_profile *profile,
                           const struct spex_profile_row *row, bool mixed) {
    const char *names = spex_profile_value_names(profile, &row->probe);
    char name[SPEX_PROBE_TEXT_BYTES], value[SPEX_PROFILE_FILE_BYTES];
    for (unsigned s = 0; s < row->probe.series; s++)
        if (row->values[s]->left_out)
            fprintf(file,
                    "%s snapshot: %s of %" PRIu64 " records is infinite or no number, and in no "
                    "figure\n",
                    spex_probe_text(&row->probe, mixed, name, sizeof(name)),
                    spex_profile_value_name(names, row->probe.probe_type, s, value),
                    row->values[s]->left_out);
}

/* Says what the column of losses means, where there are any. */
static void print_losses(FILE *file, const struct spex_profile *profile) {
    bool shared = false;
    for (size_t r = 0; r < profile->row_count; r++)
        shared |= profile->rows[r].probe.lost_shared;
    if (profile->process.lost)
        fputs("lost: records; their executions are counted all the same, and what they took is not",
              file);
    if (profile->process.lost && shared)
        fputs("; ~ is a probe's share of its type's, by records", file);
    if (profile->process.lost)
        fputc('\n', file);
}

/* Prints how many processes have done something that no figure tells of. */
static void print_unfollowed(FILE *file, const struct spex_profile_process *process) {
    bool one = process->unfollowed == 1;
    if (process->unfollowed)
        fprintf(file,
                "%" PRIu64 " %s not followed (-f or SPEX_FORKS=follow follows them): what %s did "
                "is in no figure here\n",
                process->unfollowed, one ? "child of a fork was" : "children of forks were",
                one ? "it" : "they");
}

/* Prints how many sites no figure tells of. */
static void print_refused(FILE *file, const struct spex_profile_process *process) {
    bool one = process->sites_refused == 1;
    if (process->sites_refused)
        fprintf(file,
                "%u probe site%s refused, as spex said when %s loaded: what %s did is in no figure "
                "here\n",
                process->sites_refused, one ? " was" : "s were", one ? "it was" : "they were",
                one ? "it" : "they");
}

/* Prints how records are made, and how costs and figures were calculated. */
static void print_more(FILE *file, const struct spex_profile *profile, bool mixed) {
    print_engine(file, profile);
    print_empty(file, profile);
    print_times(file, profile);
    print_budget_times(file, profile);
    print_halving(file, profile, mixed);
    for (size_t r = 0; r < profile->row_count; r++)
        print_nested(file, profile, &profile->rows[r], mixed);
}

void spex_table_notes(FILE *file, const struct spex_profile *profile, bool verbose) {
    SPEX_PLAIN_NUMBERS;
    bool mixed = spex_profile_rows_mixed(profile);
    print_losses(file, profile);
    print_unfollowed(file, &profile->process);
    print_refused(file, &profile->process);
    if (profile->process.budget > 0)
        print_budget(file, profile);
    if (verbose || profile->process.budget <= 0)
        print_overhead(file, profile);
    if (verbose)
        print_more(file, profile, mixed);
    print_counters(file, profile, verbose);
    for (size_t r = 0; r < profile->row_count; r++)
        print_marks(file, &profile->rows[r].probe, mixed, verbose);
    for (size_t r = 0; r < profile->row_count; r++)
        print_left_out(file, profile, &profile->rows[r], mixed);
    for (size_t r = 0; r < profile->row_count; r++)
        print_spans(file, &profile->rows[r].probe, mixed, verbose);
}
