/* SPDX-License-Identifier: MIT */
/* Each process has a connection, over which it is asked for a profile in each round. Besides, it
 * sends one when it ends by itself: that is what the subscription is for, whose interval never
 * comes. What a process has told last is added to its program's `gone` when it leaves. */
#include "tools/serve/programs.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "observe/control_client.h"
#include "observe/profile_sum.h"
#include "observe/workers.h"

#define MS 1000000ull

/* New processes are looked for so often. All others are tried every half a minute, TRIES times;
 * where there are so many that this takes a second of CPU time, more seldom. */
#define LOOK_NS   (1000 * MS)
#define ALL_NS    (30 * 1000 * MS)
#define ALL_SHARE 300
enum { TRIES = 3 };

/* Processes that are tried before clients have their turn again: each costs some fifty system
 * calls. */
enum { STEP = 128 };

/* A round waits so long for answers. Figures are new for a while, so that many who ask at once cost
 * programs no more than one. For who watches a process they are new for longer, so that another one
 * who comes between two events costs it nothing; of the others he has a list. */
#define ROUND_NS  (500 * MS)
#define NEW_NS    (50 * MS)
#define RECENT_NS (500 * MS)
#define LISTED_NS (5000 * MS)

/* The longest rest that a process may ask for. */
#define REST_NS (10 * 1000 * MS)

/* A program without processes is told of for so long, for the last figures to be seen. */
#define EMPTY_NS (600 * 1000 * MS)

struct spex_program_process *spex_programs_find(struct spex_programs *programs, pid_t process) {
    for (size_t p = 0; p < programs->process_count; p++)
        if (programs->processes[p]->caller.process == process)
            return programs->processes[p];
    return NULL;
}

static void program_free(struct spex_program *program) {
    struct spex_share *share = program->gone.share;
    spex_sums_free(&program->gone);
    spex_sums_free(&program->shown);
    spex_share_leave(share);
    free(program);
}

static void program_remove(struct spex_programs *programs, size_t at) {
    program_free(programs->programs[at]);
    programs->programs[at] = programs->programs[--programs->program_count];
}

/* Forgets programs that have had no process for long. */
static void programs_forget(struct spex_programs *programs, uint64_t now_ns) {
    for (size_t p = programs->program_count; p-- > 0;) {
        const struct spex_program *program = programs->programs[p];
        if (!program->processes && now_ns > program->empty_ns + EMPTY_NS)
            program_remove(programs, p);
    }
}

/* Makes room for a name: the program goes that has had no process for the longest time. There is
 * one, as there are no more processes than names. */
static void program_make_room(struct spex_programs *programs) {
    size_t oldest = programs->program_count;
    for (size_t p = 0; p < programs->program_count; p++)
        if (!programs->programs[p]->processes &&
            (oldest == programs->program_count ||
             programs->programs[p]->empty_ns < programs->programs[oldest]->empty_ns))
            oldest = p;
    if (programs->program_count == SPEX_PROGRAMS_NAMES && oldest < programs->program_count)
        program_remove(programs, oldest);
}

/* The program of a name, of which `user` has a process; NULL: out of memory. */
static struct spex_program *program_named(struct spex_programs *programs, const char *name,
                                          uid_t user) {
    for (size_t p = 0; p < programs->program_count; p++)
        if (strcmp(programs->programs[p]->name, name) == 0)
            return programs->programs[p];
    program_make_room(programs);
    struct spex_program *program = calloc(1, sizeof(*program));
    if (!program)
        return NULL;
    program->gone.share = program->shown.share = spex_share_join(&programs->shares, user);
    if (!program->gone.share) {
        free(program);
        return NULL;
    }
    memcpy(program->name, name, strnlen(name, sizeof(program->name) - 1));
    programs->programs[programs->program_count++] = program;
    return program;
}

/* Leaves the sums of a process, whose figures begin anew or end, to its program. Where there is no
 * memory they are missing from then on; counters that were shown do not fall. */
static void process_retire(struct spex_programs *programs, struct spex_program_process *process) {
    if (process->program)
        spex_sums_add(&process->program->gone, &process->sums, programs->probes_max, false);
    if (process->program)
        process->program->gone.left_out = 0;
    spex_sums_free(&process->sums);
    process->seconds = 0;
}

static void process_free(struct spex_program_process *process) {
    spex_caller_free(&process->caller);
    spex_profile_free(&process->latest);
    spex_profile_free(&process->before);
    spex_recent_free(&process->recent);
    spex_sums_free(&process->sums);
    spex_sums_free(&process->coming);
    spex_share_leave(process->share);
    free(process);
}

static void process_remove(struct spex_programs *programs, size_t at, uint64_t now_ns) {
    struct spex_program_process *process = programs->processes[at];
    process_retire(programs, process);
    if (process->program && --process->program->processes == 0)
        process->program->empty_ns = now_ns;
    process_free(process);
    programs->left = true;
    programs->processes[at] = programs->processes[--programs->process_count];
}

void spex_programs_open(struct spex_programs *programs) {
    programs->shares.most = SPEX_SHARES_BYTES;
    programs->complaints.who = "serve: ";
}

void spex_programs_close(struct spex_programs *programs) {
    spex_repeated_end(&programs->complaints);
    while (programs->process_count)
        process_free(programs->processes[--programs->process_count]);
    while (programs->program_count)
        program_free(programs->programs[--programs->program_count]);
}

static bool is_watched(const struct spex_program_process *process) {
    const struct spex_programs *programs = process->programs;
    if (programs->quantiles)
        return true;
    return programs->is_watched && programs->is_watched(programs->user, process->caller.process);
}

/* For the reader of a process: of a report nothing but sums is kept where nobody watches. */
static int take_row(void *user, const struct spex_profile *profile,
                    const struct spex_profile_row *row) {
    struct spex_program_process *process = user;
    return spex_sums_take(&process->coming, profile, row, process->programs->probes_max);
}

static void process_ask(struct spex_program_process *process, enum spex_control_kind kind,
                        uint32_t interval_ms, uint64_t now_ns) {
    process->caller.reader.row = is_watched(process) ? NULL : take_row;
    spex_caller_ask(&process->caller, kind, SPEX_CALLER_INTERVAL, interval_ms);
    process->asked_ns = now_ns;
    process->stale = false;
}

static size_t processes_of(const struct spex_programs *programs, uid_t user) {
    size_t count = 0;
    for (size_t p = 0; p < programs->process_count; p++)
        count += programs->processes[p]->caller.owner == user;
    return count;
}

/* Whether there is a place for one more process of the user. Where there is none, the last process
 * goes of a user who has more than this one would have. */
static bool process_make_room(struct spex_programs *programs, uid_t user, uint64_t now_ns) {
    if (programs->process_count < SPEX_PROGRAMS_PROCESSES)
        return true;
    size_t own = processes_of(programs, user) + 1;
    for (size_t p = programs->process_count; p-- > 0;)
        if (processes_of(programs, programs->processes[p]->caller.owner) > own) {
            programs->processes_left_out++;
            process_remove(programs, p, now_ns);
            return true;
        }
    return false;
}

/* Connects to a process. One that does not accept is looked for again. */
static void process_follow(struct spex_programs *programs, pid_t pid, uint64_t now_ns) {
    struct spex_error error;
    int socket = spex_client_connect(pid, 0, &error);
    if (socket < 0)
        return;
    struct spex_program_process *process = calloc(1, sizeof(*process));
    if (!process) {
        spex_client_close(socket);
        return;
    }
    spex_caller_open(&process->caller, socket);
    process->caller.process = pid;
    process->programs = programs;
    process->share = spex_share_join(&programs->shares, process->caller.owner);
    process->caller.reader.share = process->sums.share = process->coming.share = process->share;
    process->caller.reader.user = process;
    if (!process->share || !process_make_room(programs, process->caller.owner, now_ns)) {
        programs->processes_left_out++;
        process_free(process);
        return;
    }
    process_ask(process, SPEX_CONTROL_SUBSCRIBE, SPEX_CONTROL_INTERVAL_MAX_MS, now_ns);
    programs->processes[programs->process_count++] = process;
}

/* Whether a process is to be tried. Most of them have no spex: one that was tried a few times, so
 * that it had the time to start spex, is tried again with all others only. */
static enum spex_process_look is_to_be_tried(void *user, pid_t process) {
    struct spex_programs *programs = user;
    uint8_t *tries = &programs->tries[(unsigned)process % SPEX_PROGRAMS_TRIES];
    if (process <= programs->look_from || !programs->look_left || *tries == TRIES ||
        spex_programs_find(programs, process))
        return SPEX_PROCESS_LEAVE;
    ++*tries;
    programs->look_left--;
    programs->look_at = process;
    return spex_wanted_has(programs->wanted, process) ? SPEX_PROCESS_TRY : SPEX_PROCESS_LEAVE;
}

/* The first pass is one step, so that the first answer has all programs. */
static void pass_begin(struct spex_programs *programs, uint64_t now_ns) {
    programs->look_left = programs->all_ns ? STEP : UINT_MAX;
    if (programs->look_from)
        return;
    programs->look_all = now_ns >= programs->all_ns;
    if (programs->look_all)
        memset(programs->tries, 0, sizeof(programs->tries));
    programs_forget(programs, now_ns);
    programs->processes_left_out = 0;
    programs->look_cpu_ns = 0;
}

/* Where there was more to try, the next step is due at once. /proc has processes in the order of
 * their numbers. */
static void step_end(struct spex_programs *programs, uint64_t now_ns) {
    spex_repeated_look(&programs->complaints, now_ns);
    if (programs->left)
        malloc_trim(0);
    programs->left = false;
    programs->look_from = programs->look_left ? 0 : programs->look_at;
    if (programs->look_from)
        return;
    uint64_t pause_ns = programs->look_cpu_ns * ALL_SHARE;
    programs->look_ns = now_ns + LOOK_NS;
    if (programs->look_all)
        programs->all_ns = now_ns + (pause_ns > ALL_NS ? pause_ns : ALL_NS);
}

void spex_programs_look(struct spex_programs *programs, uint64_t now_ns) {
    pid_t *found;
    if (!programs->wanted || now_ns < programs->look_ns)
        return;
    pass_begin(programs, now_ns);
    uint64_t cpu_ns = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    long count = spex_processes_list_where(is_to_be_tried, programs, &found);
    for (long p = 0; p < count; p++)
        process_follow(programs, found[p], now_ns);
    if (count >= 0)
        free(found);
    programs->look_cpu_ns += spex_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
    step_end(programs, now_ns);
}

/* Whether the round waits for the process. */
static bool is_awaited(const struct spex_program_process *process) {
    return process->asked_ns && !process->silent;
}

static bool round_is_open(const struct spex_programs *programs) {
    for (size_t p = 0; p < programs->process_count; p++)
        if (is_awaited(programs->processes[p]))
            return true;
    return false;
}

/* Ends the round when all have answered, or its time is over. Who was asked later has its time. */
static void round_check(struct spex_programs *programs, uint64_t now_ns) {
    if (!programs->round_ns)
        return;
    bool late = now_ns >= programs->round_ns;
    for (size_t p = 0; late && p < programs->process_count; p++) {
        struct spex_program_process *process = programs->processes[p];
        process->silent |= process->asked_ns && now_ns >= process->asked_ns + ROUND_NS;
    }
    if (late || !round_is_open(programs))
        programs->round_ns = 0;
}

static uint64_t rest_ns(const struct spex_program_process *process) {
    uint64_t told = process->caller.reader.next_ms * MS;
    return told < REST_NS ? told : REST_NS;
}

double spex_programs_report_seconds(const struct spex_program_process *process) {
    const uint64_t usual = 1000 * MS, rest = rest_ns(process);
    return (double)(rest > usual ? rest : usual) / 1e9;
}

/* How old the figures of a process may be. */
static uint64_t age_ns(const struct spex_program_process *process, enum spex_programs_wish wish) {
    if (wish == SPEX_PROGRAMS_SUMS)
        return NEW_NS;
    return is_watched(process) ? RECENT_NS : LISTED_NS;
}

/* Whether to ask the process: its figures are old, or its report was not kept. */
static bool is_due(const struct spex_program_process *process, enum spex_programs_wish wish,
                   uint64_t now_ns) {
    uint64_t age = age_ns(process, wish), rest = rest_ns(process);
    if (process->asked_ns)
        return false;
    if (process->stale || (is_watched(process) && !process->latest.types))
        return true;
    return now_ns >= process->caller.heard_ns + (age > rest ? age : rest);
}

bool spex_programs_ask(struct spex_programs *programs, enum spex_programs_wish wish, pid_t process,
                       uint64_t now_ns) {
    bool asked = false;
    for (size_t p = 0; p < programs->process_count; p++) {
        struct spex_program_process *one = programs->processes[p];
        if ((wish == SPEX_PROGRAMS_REPORT && one->caller.process != process) ||
            !is_due(one, wish, now_ns))
            continue;
        process_ask(one, SPEX_CONTROL_PROFILE, 0, now_ns);
        asked = true;
    }
    if (!programs->round_ns && (asked || round_is_open(programs)))
        programs->round_ns = now_ns + ROUND_NS;
    return programs->round_ns != 0;
}

uint64_t spex_programs_wait(const struct spex_programs *programs, struct pollfd *fds) {
    for (size_t p = 0; p < programs->process_count; p++)
        fds[p] = (struct pollfd){.fd = programs->processes[p]->caller.socket, .events = POLLIN};
    uint64_t round = programs->round_ns ? programs->round_ns : UINT64_MAX;
    uint64_t look = programs->wanted ? programs->look_ns : UINT64_MAX;
    return round < look ? round : look;
}

size_t spex_programs_left_out(const struct spex_programs *programs) {
    size_t count = 0;
    for (size_t p = 0; p < programs->process_count; p++)
        count += programs->processes[p]->sums.count && !programs->processes[p]->program;
    return count;
}

/* Finds the program again in each report: a process that executes another program has its name. */
static void process_join(struct spex_programs *programs, struct spex_program_process *process,
                         uint64_t now_ns) {
    const char *name = process->caller.command;
    if (process->program && strcmp(process->program->name, name) == 0)
        return;
    process_retire(programs, process);
    if (process->program && --process->program->processes == 0)
        process->program->empty_ns = now_ns;
    process->program = program_named(programs, name, process->caller.owner);
    if (process->program)
        process->program->processes++;
}

void spex_programs_expire(struct spex_programs *programs, pid_t process) {
    struct spex_program_process *found = spex_programs_find(programs, process);
    if (found)
        found->stale = true;
}

void spex_programs_told(struct spex_programs *programs) {
    for (size_t p = 0; p < programs->process_count; p++)
        programs->processes[p]->told = programs->processes[p]->latest.types != NULL;
}

static void process_forget(struct spex_program_process *process) {
    spex_profile_free(&process->before);
    spex_profile_free(&process->latest);
    process->told = false;
}

void spex_programs_begin(struct spex_programs *programs, pid_t process) {
    struct spex_program_process *found = spex_programs_find(programs, process);
    if (found)
        process_forget(found);
}

/* Keeps the report in the place of the last one where somebody watches. That one becomes the one
 * before if an event was made of it: between two events others may have asked, too. */
static void process_keep(struct spex_program_process *process) {
    struct spex_profile_reader *reader = &process->caller.reader;
    struct spex_profile *over = process->told ? &process->before : &process->latest;
    if (process->programs->quantiles)
        spex_recent_offer(&process->recent, over, &reader->profile);
    spex_profile_free(over);
    if (process->told)
        process->before = process->latest;
    process->told = false;
    process->latest = reader->profile;
    reader->profile = (struct spex_profile){.types = NULL};
    reader->complete = false;
    if (reader->taker || !is_watched(process))
        process_forget(process);
}

/* Sums of a report whose rows are kept. */
static int take_rows(struct spex_program_process *process, const struct spex_profile *profile) {
    int err = 0;
    for (size_t r = 0; r < profile->row_count && !err; r++)
        err = take_row(process, profile, &profile->rows[r]);
    return err ? spex_fail(&process->caller.error, err, "there is no memory for its sums") : 0;
}

/* Takes a report. Where the collection has begun anew, counters go on from what there was. */
static int process_report(struct spex_programs *programs, struct spex_program_process *process,
                          uint64_t now_ns) {
    struct spex_profile *profile = &process->caller.reader.profile;
    process->asked_ns = 0;
    process->silent = false;
    process_join(programs, process, now_ns);
    if (profile->process.seconds < process->seconds)
        process_retire(programs, process);
    int err = take_rows(process, profile);
    if (err)
        return err;
    spex_sums_end(&process->coming, profile);
    spex_sums_free(&process->sums);
    process->sums = process->coming;
    process->coming = (struct spex_sums){.share = process->share};
    process->seconds = profile->process.seconds;
    process_keep(process);
    return 0;
}

/* False: the connection is closed. An answer without a report is a refusal. */
static bool process_take(struct spex_programs *programs, struct spex_program_process *process,
                         uint64_t now_ns) {
    int taken;
    while ((taken = spex_caller_take(&process->caller)) > 0)
        if (process->caller.reader.status < 0 || !process->caller.reader.complete ||
            process_report(programs, process, now_ns) != 0)
            return false;
    return taken == 0;
}

/* Why its connection is closed, unless it has ended. */
static void tell_refused(struct spex_programs *programs, const struct spex_caller *caller,
                         uint64_t now_ns) {
    struct spex_error said = {.text = ""};
    if (!caller->error.text[0])
        return;
    spex_error_set(&said, "process %d (%s) of user %u: %s", (int)caller->process, caller->command,
                   (unsigned)caller->owner, caller->error.text);
    programs->refused++;
    spex_repeated_complain(&programs->complaints, said.text, now_ns);
}

/* From the last process on, since the last one takes the place of one that is removed. */
void spex_programs_take(struct spex_programs *programs, const struct pollfd *fds, uint64_t now_ns) {
    for (size_t p = programs->process_count; p-- > 0;)
        if (fds[p].revents && !process_take(programs, programs->processes[p], now_ns)) {
            tell_refused(programs, &programs->processes[p]->caller, now_ns);
            process_remove(programs, p, now_ns);
        }
    round_check(programs, now_ns);
}

/* Sums of processes that live and of those that have ended. 0 or -ENOMEM. */
static int program_sum(struct spex_programs *programs, struct spex_program *program, size_t most) {
    struct spex_sums now = {.probes = NULL};
    int err = spex_sums_add(&now, &program->gone, most, false);
    for (size_t p = 0; !err && p < programs->process_count; p++)
        if (programs->processes[p]->program == program)
            err = spex_sums_add(&now, &programs->processes[p]->sums, most, true);
    err = err ? err : spex_sums_raise(&program->shown, &now, most);
    spex_sums_free(&now);
    return err;
}

/* Adds what has happened in the recent time of each process that answers. 0 or -ENOMEM. */
static int add_recent(const struct spex_programs *programs, const struct spex_program *program,
                      struct spex_profile *sum) {
    int err = 0;
    for (size_t p = 0; !err && p < programs->process_count; p++) {
        const struct spex_program_process *process = programs->processes[p];
        struct spex_profile recent = {.types = NULL};
        if (process->program != program || process->silent || !process->latest.types)
            continue;
        const struct spex_profile *begin = spex_recent_begin(&process->recent, &process->latest);
        err = begin ? spex_profile_since(&process->latest, begin, &recent) : 0;
        err = err || !begin ? err : spex_profile_add(sum, &recent);
        spex_profile_free(&recent);
    }
    return err;
}

/* Without memory no quantiles are told this time. */
static void tell_quantiles(const struct spex_programs *programs, struct spex_program *program) {
    struct spex_profile sum = {.types = NULL};
    if (!programs->quantiles)
        return;
    bool whole = add_recent(programs, program, &sum) == 0;
    spex_sums_quantiles(&program->shown, whole && sum.types ? &sum : NULL);
    spex_profile_free(&sum);
}

static void count_silent(const struct spex_programs *programs, const struct spex_program *program,
                         struct spex_metrics_program *entry) {
    for (size_t p = 0; p < programs->process_count; p++)
        if (programs->processes[p]->program == program && programs->processes[p]->silent)
            entry->silent++;
    entry->answering = program->processes - entry->silent;
}

static size_t series_of(const struct spex_programs *programs, const struct spex_share *user) {
    size_t count = 0;
    for (size_t p = 0; p < programs->program_count; p++)
        if (programs->programs[p]->shown.share == user)
            count += programs->programs[p]->shown.count;
    return count;
}

/* How many series each user may have: all, unless one with less than an equal part has probes for
 * which there was no room. */
static size_t series_most(const struct spex_programs *programs) {
    size_t users = 0;
    for (const struct spex_share *user = programs->shares.first; user; user = user->next)
        users++;
    size_t equal = users ? programs->probes_max / users : 0;
    for (size_t p = 0; p < programs->program_count; p++) {
        const struct spex_sums *shown = &programs->programs[p]->shown;
        if (shown->left_out && series_of(programs, shown->share) < equal)
            return equal;
    }
    return programs->probes_max;
}

static size_t less(size_t one, size_t other) {
    return one > other ? one - other : 0;
}

/* Takes from users what they have beyond `most`, of the programs that came last. */
static void series_cut(struct spex_programs *programs, size_t most) {
    for (size_t p = programs->program_count; p-- > 0;) {
        struct spex_sums *shown = &programs->programs[p]->shown;
        spex_sums_cut(shown, less(series_of(programs, shown->share), most));
    }
}

/* Programs that came first keep their probes: what is left of the limit is for those behind. */
long spex_programs_sums(struct spex_programs *programs, struct spex_metrics_program *list) {
    size_t taken = 0, most = series_most(programs);
    series_cut(programs, most);
    for (size_t p = 0; p < programs->program_count; p++)
        taken += programs->programs[p]->shown.count;
    for (size_t p = 0; p < programs->program_count; p++) {
        struct spex_program *program = programs->programs[p];
        size_t before = program->shown.count, left = less(programs->probes_max, taken);
        size_t own = less(most, series_of(programs, program->shown.share));
        int err = program_sum(programs, program, before + (left < own ? left : own));
        if (err)
            return err;
        taken += program->shown.count - before;
        tell_quantiles(programs, program);
        list[p] = (struct spex_metrics_program){.name = program->name, .sums = &program->shown};
        count_silent(programs, program, &list[p]);
    }
    return (long)programs->program_count;
}
