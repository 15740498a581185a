/* SPDX-License-Identifier: MIT */
#include "attach/attached.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "attach/leftovers.h"
#include "base/clock.h"

/* Executions of all functions that may be open at a time; how long a function is watched before it is
 * said to fit, and at most; and how often there is a look at the program's files. */
enum { OPEN_MOST = 1 << 16 };
static const double watch_seconds = 0.01, watch_seconds_most = 1, look_seconds = 1,
                    look_seconds_most = 10;

double spex_function_cost_ns(const struct spex_process_function *function,
                             const struct spex_hit_costs *costs) {
    const struct spex_placement *placement = &function->placement;
    bool timed = function->timed && !placement->endless;
    double dearest = 0;
    for (unsigned e = 0; timed && e < placement->end_count; e++)
        dearest =
            fmax(dearest, spex_hit_cost_ns(&costs->of[placement->ends[e].hit][SPEX_SITE_ENDS]));
    return dearest + spex_hit_cost_ns(&costs->of[spex_process_function_entry(function)->hit]
                                                [spex_process_function_task(function)]);
}

/* The least and the most are in proportion to those of the beginning. */
static void set_cost(const struct spex_attachment *attachment, size_t f) {
    const struct spex_process_function *function = &attachment->functions.items[f];
    struct spex_attached_function *one = &attachment->of[f];
    enum spex_site_task task = spex_process_function_task(function);
    const struct spex_hit_cost *cost =
        &attachment->costs.of[spex_process_function_entry(function)->hit][task];
    double likely = spex_function_cost_ns(function, &attachment->costs) / 1e9;
    double middle = spex_hit_cost_ns(cost);
    one->cost[SPEX_COST_LIKELY] = likely;
    one->cost[SPEX_COST_LEAST] = middle > 0 ? likely * cost->least / middle : likely;
    one->cost[SPEX_COST_MOST] = middle > 0 ? likely * cost->coldest / middle : likely;
}

static void refuse(struct spex_attachment *attachment, size_t f, const char *why) {
    struct spex_process_function *function = &attachment->functions.items[f];
    attachment->of[f].state = SPEX_ATTACHED_REFUSED;
    if (!*function->refused)
        snprintf(function->refused, sizeof(function->refused), "%.*s",
                 (int)sizeof(function->refused) - 1, why);
}

/* Where that is not possible, breakpoints count. */
static void reach(struct spex_attachment *attachment, size_t site,
                  struct spex_process_function *function) {
    char line[384];
    struct spex_error error = {.text = "there are none of this kind"};
    const struct spex_kind_of_site *kind = attachment->options.kind;
    const struct spex_way way = {function->imports, function->moved};
    if (spex_process_function_has_way(function) &&
        (!kind->reach || kind->reach(attachment->sites, site, &way, &error) != 0))
        spex_process_function_leave_way(function, error.text);
    if (*function->rung && !spex_process_function_has_way(function) &&
        spex_function_choice_is_glob(&attachment->choices->items[function->choice])) {
        attachment->on_breakpoints++;
        *function->rung = '\0';
    }
    if (!*function->rung)
        return;
    snprintf(line, sizeof(line), "%.100s: %s", function->name, function->rung);
    attachment->options.say(line);
}

/* Gives a new function its sites. */
static void add_function(struct spex_attachment *attachment, size_t f) {
    struct spex_process_function *function = &attachment->functions.items[f];
    struct spex_attached_function *one = &attachment->of[f];
    *one = (struct spex_attached_function){.site = attachment->site_count};
    if (function->timed && function->placement.endless && !*function->refused)
        snprintf(function->refused, sizeof(function->refused), "it cannot be timed: %s",
                 function->placement.endless);
    if (*function->refused) {
        one->state = SPEX_ATTACHED_REFUSED;
        return;
    }
    one->counting = function->site_count ? function->site_count : 1;
    one->sites = one->counting + (function->timed ? function->placement.end_count : 0);
    if (attachment->site_count + one->sites > SPEX_SITES_MAX) {
        one->sites = one->counting = 0;
        refuse(attachment, f, "there are too many breakpoints");
        return;
    }
    reach(attachment, one->site, function);
    one->stubs = spex_process_function_has_way(function);
    for (unsigned s = 0; s < one->sites; s++)
        attachment->site_functions[attachment->site_count++] = (uint32_t)f;
    set_cost(attachment, f);
}

static void say_on_breakpoints(const struct spex_attachment *attachment) {
    char line[160];
    size_t count = attachment->on_breakpoints;
    if (!count)
        return;
    snprintf(
        line, sizeof(line),
        "%zu function%s by breakpoints, not as asked for: spex probes %d --functions tells why",
        count, count == 1 ? "" : "s", (int)attachment->program->process);
    attachment->options.say(line);
}

/* Functions of files that were mapped since. */
static int find(struct spex_attachment *attachment, struct spex_error *error) {
    attachment->files = spex_program_files(attachment->program);
    attachment->looked = spex_attached_now();
    int err = spex_process_functions_find(&attachment->functions, attachment->choices,
                                          attachment->program, attachment->options.search, error);
    if (err)
        return err;
    spex_attached_limit(attachment);
    attachment->on_breakpoints = 0;
    for (; attachment->count < attachment->functions.count; attachment->count++)
        add_function(attachment, attachment->count);
    say_on_breakpoints(attachment);
    return 0;
}

/* Two descriptors for each site. */
static void allow_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int open_sites(struct spex_attachment *attachment, struct spex_error *error) {
    const struct spex_kind_of_site *kind = attachment->options.kind;
    pid_t thread = attachment->program->thread;
    allow_descriptors();
    int err = spex_hit_costs_measure(kind, &attachment->costs, error);
    if (err && spex_function_choices_need_no_breakpoints(attachment->choices))
        err = 0;
    return err ? err : kind->open(&attachment->sites, SPEX_SITES_MAX, thread, error);
}

/* What an earlier command has left in the program, as it was killed. */
static void clean(const struct spex_attachment *attachment) {
    char line[160];
    const struct spex_kind_of_site *kind = attachment->options.kind;
    size_t cleaned = kind->clean ? kind->clean(attachment->sites) : 0;
    if (cleaned) {
        snprintf(line, sizeof(line),
                 "put back %zu slot%s or patch%s that a command which was killed has left in the "
                 "program",
                 cleaned, cleaned == 1 ? "" : "s", cleaned == 1 ? "" : "es");
        attachment->options.say(line);
    }
    size_t removed = spex_leftovers_remove(attachment->program, kind, attachment->sites);
    if (!removed)
        return;
    snprintf(line, sizeof(line),
             "removed %zu breakpoint%s that a command which was killed has left in the program",
             removed, removed == 1 ? "" : "s");
    attachment->options.say(line);
}

/* The CPU time was asked for before the costs were measured, which has taken long enough to know how many
 * CPUs the program uses. */
static void begin(struct spex_attachment *attachment) {
    spex_attached_ask(attachment, true);
    attachment->begin = spex_attached_time(attachment);
    attachment->own_begin = spex_clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    attachment->cpu_reckoned = attachment->begin.cpu;
    spex_random_seed(&attachment->random, spex_clock_ns(CLOCK_MONOTONIC), 0);
}

static int fill(struct spex_attachment *attachment, struct spex_error *error) {
    attachment->of = calloc(SPEX_FUNCTIONS_MAX, sizeof(*attachment->of));
    attachment->rows = calloc(2 * SPEX_FUNCTIONS_MAX, sizeof(*attachment->rows));
    attachment->told_sites = calloc(2 * SPEX_FUNCTIONS_MAX, sizeof(*attachment->told_sites));
    attachment->site_functions = calloc(SPEX_SITES_MAX, sizeof(*attachment->site_functions));
    if (!attachment->of || !attachment->rows || !attachment->told_sites ||
        !attachment->site_functions ||
        spex_pairing_create(&attachment->pairing, SPEX_FUNCTIONS_MAX, OPEN_MOST) != 0 ||
        spex_tracer_create(&attachment->tracer) != 0)
        return spex_fail(error, -ENOMEM, "out of memory");
    spex_attached_ask(attachment, true);
    int err = open_sites(attachment, error);
    if (!err)
        clean(attachment);
    spex_attached_ask(attachment, true);
    err = err ? err : find(attachment, error);
    if (!err)
        begin(attachment);
    return err;
}

int spex_attachment_open(struct spex_attachment **opened,
                         const struct spex_attachment_options *options,
                         const struct spex_program *program,
                         const struct spex_function_choices *choices, struct spex_error *error) {
    struct spex_attachment *attachment = calloc(1, sizeof(*attachment));
    *opened = NULL;
    if (!attachment)
        return spex_fail(error, -ENOMEM, "out of memory");
    attachment->options = *options;
    attachment->program = program;
    attachment->choices = choices;
    int err = fill(attachment, error);
    if (err)
        spex_attachment_close(attachment);
    else
        *opened = attachment;
    return err;
}

void spex_attachment_close(struct spex_attachment *attachment) {
    if (!attachment)
        return;
    attachment->options.kind->close(attachment->sites);
    spex_tracer_destroy(attachment->tracer);
    spex_pairing_destroy(attachment->pairing);
    spex_process_functions_free(&attachment->functions);
    free(attachment->site_functions);
    free(attachment->rows);
    free(attachment->told_sites);
    free(attachment->of);
    free(attachment);
}

const struct spex_process_functions *spex_attachment_functions(
    const struct spex_attachment *attachment) {
    return &attachment->functions;
}

const struct spex_hit_costs *spex_attachment_costs(const struct spex_attachment *attachment) {
    return &attachment->costs;
}

uint64_t spex_attachment_lost(const struct spex_attachment *attachment) {
    return attachment->lost;
}

bool spex_attachment_waits(const struct spex_attachment *attachment) {
    for (size_t f = 0; f < attachment->count; f++)
        if (attachment->of[f].state == SPEX_ATTACHED_WAITS)
            return true;
    return false;
}

bool spex_attachment_is_settled(const struct spex_attachment *attachment) {
    return attachment->settled;
}

/* Switches on the next function that waits, and watches those that were switched on before it. Where it is not clear
 * yet that they fit, for longer. Returns the seconds until it is to be called again. */
static double start_next(struct spex_attachment *attachment) {
    struct spex_error error;
    size_t f = 0;
    while (f < attachment->count && attachment->of[f].state != SPEX_ATTACHED_WAITS)
        f++;
    if (f < attachment->count) {
        attachment->of[f].state = SPEX_ATTACHED_ON;
        if (spex_attached_switch_on(attachment, f, &error) != 0)
            refuse(attachment, f, error.text);
        attachment->started = spex_attached_now();
    }
    bool clear = spex_attached_trim(attachment);
    double watched = spex_attached_now() - attachment->started;
    if (f == attachment->count && watched >= (clear ? watch_seconds : watch_seconds_most))
        spex_attached_settle(attachment);
    return watched > watch_seconds ? watched / 2 : 0;
}

/* New libraries are looked for when what is mapped has changed. */
static void look_for_files(struct spex_attachment *attachment) {
    struct spex_error error;
    if (spex_attached_now() - attachment->looked <
        spex_attached_seconds_between(attachment, attachment->look_cost, look_seconds,
                                      look_seconds_most))
        return;
    double own = spex_attached_own(attachment);
    attachment->looked = spex_attached_now();
    uint64_t files = spex_program_files(attachment->program);
    attachment->look_cost = spex_attached_own(attachment) - own;
    attachment->own_last += attachment->look_cost;
    if (files == attachment->files)
        return;
    size_t before = attachment->count;
    if (find(attachment, &error) == 0 && attachment->count > before)
        attachment->settled = false;
}

/* The sequence of passes when everything is decided. */
static double pass_settled(struct spex_attachment *attachment) {
    spex_attached_note_pass(attachment);
    spex_attached_take_records(attachment);
    look_for_files(attachment);
    spex_attached_pass_slices(attachment);
    return fmin(spex_attached_next_slice(attachment), spex_attached_pass_seconds(attachment));
}

int spex_attachment_alarms(const struct spex_attachment *attachment) {
    return attachment->options.kind->alarms(attachment->sites);
}

/* Until something is settled there is nothing to wait for but that. */
static double pass_unsettled(struct spex_attachment *attachment) {
    spex_attached_take_records(attachment);
    double next = start_next(attachment);
    return attachment->settled ? 0 : fmax(next, 1e-3);
}

int spex_attachment_pass(struct spex_attachment *attachment) {
    attachment->options.kind->note_alarms(attachment->sites);
    double next =
        attachment->settled ? fmax(pass_settled(attachment), 1e-3) : pass_unsettled(attachment);
    if (!spex_attached_set_alarms(attachment))
        next = fmin(next, 1e-3);
    return (int)(next * 1e3);
}
