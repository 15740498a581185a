/* SPDX-License-Identifier: MIT */
/* `spex explore`: runs an exploration, shows its progress, and ends it on a signal. Trials that
 * are in the store stay there, so that the same command continues. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <spex/explore.h>

#include "base/clock.h"
#include "explore/elsewhere.h"
#include "fleet/link/link_options.h"
#include "fleet/trials/trial_master.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/duration.h"
#include "tools/common/options.h"
#include "tools/common/progress.h"
#include "tools/common/stop_signals.h"
#include "tools/common/verdict.h"
#include "tools/explore/prior_space.h"
#include "tools/explore/set_explore.h"
#include "tools/explore/versus.h"

static const char explore_usage[] =
    "usage: spex explore SPACE.xml --store FILE.db [--policy NAME]\n"
    "                    -- PROGRAM [ARGUMENT…]\n"
    "       spex explore --set NAME=VALUES… [--minimise WHAT] [--for TIME]\n"
    "                    -- PROGRAM [ARGUMENT…]\n"
    "       spex explore --pool FILE.csv [--minimise WHAT] [--for TIME]\n"
    "                    -- PROGRAM [ARGUMENT…]\n"
    "       spex explore 'COMMAND A' 'COMMAND B' [--minimise WHAT] [--for TIME]\n"
    "                    [--duet] [--json]\n"
    "\n"
    "Runs PROGRAM once for each configuration that the policy asks for, and keeps\n"
    "every finished trial in FILE.db. Started again with the same arguments, it goes\n"
    "on there.\n"
    "\n"
    "  --set NAME=VALUES   a parameter, {NAME} in an argument: threads=1..8,\n"
    "                      size=0..64:4 in steps, size=1..64*2 in powers,\n"
    "                      mode=fast|safe\n"
    "  --pool FILE.csv     the only configurations there are: names of parameters,\n"
    "                      then a row of values for each\n"
    "  --minimise WHAT     wall (the default), cpu, memory, faults or switches;\n"
    "  --maximise WHAT     output=EXPRESSION, whose group is a number in its output;\n"
    "                      json=/POINTER into its output; measure=COMMAND, run after\n"
    "                      it, that prints a number; service=cpu, or another resource\n"
    "                      of --service; or 'METRIC of PROBE', as 'p99 of query:lat'\n"
    "  --service COMMAND   a server in each trial, on which PROGRAM puts load\n"
    "  --ready HOW         when it is ready: port:NUMBER, or a command's status 0\n"
    "  --prior FILE.db     begin with the best of another exploration: of another\n"
    "                      machine, input or version, or of a space that has some of\n"
    "                      the parameters\n"
    "  --finals PERCENT    trials at the end in which the best few race; 25%, or none\n"
    "  --zone PERCENT      figures that differ by less are as good as the same; 2%\n"
    "  --sure PERCENT      how sure the winner is to be; 95%\n"
    "  --for TIME          how long it takes, to within a trial: 90s, 10min, 2h\n"
    "  --store FILE.db     where the trials go; without a space explore-PROGRAM.db,\n"
    "                      and the space is kept beside it, explore-PROGRAM.xml\n"
    "  --policy NAME    which configurations to try: gaussian (the default; few runs,\n"
    "                   by a model of the results so far), climb, grid (all of them),\n"
    "                   halving, random, sensitivity, tpe, or ./FILE.so, a policy of\n"
    "                   your own\n"
    "  --jobs N         run N trials at a time, each on CPU cores of its own\n"
    "  --share-cpus     with --jobs: let them share the CPUs, and disturb each other\n"
    "  --mixed          go on in FILE.db on another machine, kernel or build\n"
    "  --retry-failed   run those trials again that are in FILE.db as failed\n"
    "\n"
    "Of two lines for /bin/sh it tells which is better, by what ratio, or that it\n"
    "cannot tell. They run in pairs of random order, until the ratio is known or the\n"
    "time (1min) is over.\n"
    "\n"
    "  --duet           both at a time, each on half of the CPUs\n"
    "  --json           JSON instead of a table\n"
    "\n"
    "With --nats the trials run on other hosts: where `spex agent --explore` allows\n"
    "this space and program. All are of one class of machines, since others' results\n"
    "are not comparable.\n"
    "\n"
    "  --fleet NAME         the fleet whose agents run them\n"
    "  --class CLASS        the class of machines, where agents of several are there\n"
    "  --jobs N             at most N trials at a time; without it, one an agent\n" SPEX_LINK_USAGE
    "\n"
    "PROGRAM is any command where the objectives are its time, memory or output, and\n"
    "one with probes otherwise. Each time it finds its configuration in the file\n"
    "named by SPEX_CONFIG, and {NAME} in an argument is the value of that parameter.\n"
    "Ctrl-C ends the exploration; what is finished stays.\n";

static const struct spex_syntax explore_syntax = {
    .command = "explore",
    .usage = explore_usage,
    .expected = "a space, --set without one, or two commands were expected",
    .most = 2,
    .end = SPEX_OPTIONS_PROGRAM,
};

struct request {
    struct spex_explore_options options;
    /* Trials on other hosts, where there is a URL. */
    struct spex_trial_master_options elsewhere;
    /* A space of options, where there are any. */
    struct spex_option_texts sets, goals, services, readies;
    struct spex_set_explore set;
    /* Two commands, where the first is there. */
    struct spex_versus_options versus;
    struct spex_progress_bar bar;
    /* The last progress, for the final message. Its texts are valid during the call only. */
    struct spex_progress last;
    /* The best configuration in words, and what finals tell of it; empty: there is none. */
    char best[768], finals[400];
    uint64_t begin_ns;
    bool over; /* the policy has ended it, or its time */
};

/* "best 812/s (95 %: 790 to 834/s), threads=4; of the 40 tried 2 others may be as good; 1112 of 1152
 * were not tried": what is known of those tried is not known of the space. */
static void best_text(const struct spex_progress *last, char *text, size_t size) {
    unsigned long long others = last->tied > 1 ? (unsigned long long)last->tied - 1 : 0;
    unsigned long long tried = last->tried, all = last->configurations;
    char as_good[128], rest[96] = "";
    if (all == 1)
        snprintf(as_good, sizeof(as_good),
                 "the only configuration: blanks separate values in a space, bars those of --set");
    else if (!others)
        snprintf(as_good, sizeof(as_good), "of the %llu tried no other is as good", tried);
    else
        snprintf(as_good, sizeof(as_good), "of the %llu tried %llu other%s %s as good", tried,
                 others, others == 1 ? "" : "s",
                 !last->exact  ? "may be"
                 : others == 1 ? "is"
                               : "are");
    if (all > tried)
        snprintf(rest, sizeof(rest), "; %llu of %llu were not tried", all - tried, all);
    snprintf(text, size, "best %s (%s%s), %s; %s%s", last->best_figure,
             last->exact ? "exact" : "95 %: ", last->exact ? "" : last->best_interval, last->best,
             as_good, rest);
}

/* Called by the exploration after each trial; `user` is the request. */
static void take_progress(void *user, const struct spex_progress *progress) {
    struct request *request = user;
    request->last = *progress;
    if (progress->have_best && progress->best_interval)
        best_text(progress, request->best, sizeof(request->best));
    if (progress->finals)
        snprintf(request->finals, sizeof(request->finals), "%s", progress->finals);
    spex_progress_bar_show(&request->bar, progress);
}

/* What belongs to trials on other hosts, and what does not. NULL: all is well. */
static const char *explore_wrong(const struct request *request) {
    const struct spex_trial_master_options *elsewhere = &request->elsewhere;
    if (!elsewhere->link.url)
        return elsewhere->fleet || elsewhere->class || elsewhere->link.credentials
                   ? "--fleet, --class and --credentials were expected with --nats alone"
                   : NULL;
    if (!elsewhere->fleet || !spex_link_is_name(elsewhere->fleet))
        return "--fleet with the name of a fleet was expected";
    if (request->options.mixed || request->options.share_cpus)
        return "--mixed and --share-cpus were expected without --nats alone";
    return spex_link_missing(&elsewhere->link);
}

/* What belongs to a comparison of two commands, and what does not. NULL: all is well. */
static const char *versus_wrong(const struct request *request,
                                const struct spex_operands *operands) {
    const struct spex_explore_options *options = &request->options;
    const char *end = strrchr(operands->list[0], '.');
    if (end && strcmp(end, ".xml") == 0)
        return "a program goes after \"--\": SPACE.xml --store FILE.db -- PROGRAM was expected";
    if (*operands->program)
        return "one space was expected before \"-- PROGRAM\"";
    if (options->store || options->policy || options->jobs || options->share_cpus ||
        options->mixed || options->retry_failed || request->sets.count || request->set.pool ||
        request->services.count || request->readies.count || request->set.prior ||
        request->set.finals || request->set.zone || request->set.sure ||
        request->elsewhere.link.url || request->elsewhere.fleet)
        return "--minimise, --maximise, --for, --duet and --json alone were expected with two "
               "commands";
    return NULL;
}

/* What belongs to a space, or to one of options, and what does not. NULL: all is well. */
static const char *space_wrong(const struct request *request,
                               const struct spex_operands *operands) {
    if (operands->count == 2)
        return versus_wrong(request, operands);
    if (request->versus.duet || request->versus.json)
        return "--duet and --json were expected with two commands alone";
    if (!*operands->program)
        return "\"-- PROGRAM\" was expected";
    bool options = request->sets.count || request->set.pool;
    if ((operands->count && options) || (request->sets.count && request->set.pool))
        return "either a space, --set or --pool was expected";
    if (operands->count && request->goals.count)
        return "--minimise and --maximise were expected with --set or --pool alone: the space has "
               "its objectives";
    if (request->services.count != request->readies.count)
        return "a --ready was expected with each --service: port:NUMBER, or a command";
    if (operands->count && request->services.count)
        return "--service and --ready were expected with --set or --pool alone: the space has its "
               "<service>";
    if (operands->count && (request->set.finals || request->set.zone || request->set.sure))
        return "--finals, --zone and --sure were expected with --set or --pool alone: the space "
               "has them in <run>";
    if (operands->count && !request->options.store)
        return "--store FILE.db was expected";
    if (!operands->count && !options)
        return "a space, --set NAME=VALUES or --pool FILE.csv was expected";
    if (options && request->elsewhere.link.url)
        return "a space was expected with --nats, not --set or --pool";
    return NULL;
}

/* Fills in the options; the texts are those of argv. An exit status. */
static int explore_parse(int argc, char **argv, struct request *request) {
    struct spex_explore_options *options = &request->options;
    unsigned long jobs = 0;
    const struct spex_option known[] = {
        {"set", .texts = &request->sets},
        {"pool", .text = &request->set.pool},
        {"minimise", .texts = &request->goals},
        {"maximise", .texts = &request->goals},
        {"service", .texts = &request->services},
        {"ready", .texts = &request->readies},
        {"prior", .text = &request->set.prior},
        {"finals", .text = &request->set.finals},
        {"zone", .text = &request->set.zone},
        {"sure", .text = &request->set.sure},
        {"duet", .flag = &request->versus.duet},
        {"json", .flag = &request->versus.json},
        {"for", .number = &options->seconds, .read = spex_duration_read,
         .error = SPEX_DURATION_EXPECTED},
        {"store", .text = &options->store},
        {"policy", .text = &options->policy},
        {"jobs", .count = &jobs, .range = {1, 1e6}, .error = "a whole number from 1 was expected"},
        {"share-cpus", .flag = &options->share_cpus},
        {"mixed", .flag = &options->mixed},
        {"retry-failed", .flag = &options->retry_failed},
        {"fleet", .text = &request->elsewhere.fleet},
        {"class", .text = &request->elsewhere.class},
        SPEX_LINK_OPTIONS(&request->elsewhere.link),
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&explore_syntax, known, argc, argv, &operands);
    if (status)
        return status;
    options->jobs = (unsigned)jobs;
    const char *wrong = space_wrong(request, &operands);
    if (wrong || (wrong = explore_wrong(request)))
        return spex_complain(SPEX_EXIT_USAGE, "explore: %s", wrong);

    options->space = operands.count ? operands.list[0] : NULL;
    for (int c = 0; c < 2 && operands.count == 2; c++)
        request->versus.commands[c] = operands.list[c];
    options->argv = operands.program;
    return SPEX_EXIT_OK;
}

/* "48 trials in 12:05", "48 trials, 20 of them now in 12:05", or of a policy that ended early "48 trials
 * of 60 in 12:05: nothing is left to find out". */
static void trials_text(const struct request *request, char *text, size_t size) {
    const struct spex_progress *last = &request->last;
    unsigned long long all = last->trials, now = last->trials - last->resumed;
    bool early = request->over && all < last->trials_expected && !(request->options.seconds > 0);
    char took[32], part[48] = "", of[32] = "";
    spex_elapsed_text((double)(spex_clock_ns(CLOCK_MONOTONIC) - request->begin_ns) / 1e9, took,
                      sizeof(took));
    if (last->resumed)
        snprintf(part, sizeof(part), ", %llu of them now", now);
    if (early)
        snprintf(of, sizeof(of), " of %llu", (unsigned long long)last->trials_expected);
    snprintf(text, size, "%llu trial%s%s%s in %s%s", all, all == 1 ? "" : "s", of, part, took,
             early ? ": nothing is left to find out" : "");
}

/* Tells the best, also of an exploration that was interrupted. */
static void tell_verdict(const struct request *request) {
    const char *store = request->options.store;
    char trials[128], result[1536], next[1024];
    if (!request->best[0])
        return;
    trials_text(request, trials, sizeof(trials));
    snprintf(result, sizeof(result), "%s; %s%s%s", request->best, request->finals,
             request->finals[0] ? "; " : "", trials);
    snprintf(next, sizeof(next), "spex report %s, or spex explain %s best worst", store, store);
    spex_verdict(result, next);
}

/* The message and the exit status at the end. `err` and `why` are those of spex_explore. */
static int explore_finish(const struct request *request, int err, const char *why) {
    const struct spex_progress *last = &request->last;
    unsigned long long done = last->trials, expected = last->trials_expected;
    if (err == -EINTR && expected == 0)
        return spex_complain(SPEX_EXIT_INTERRUPTED, "interrupted; no trial has begun");
    if (err == -EINTR)
        return spex_complain(SPEX_EXIT_INTERRUPTED,
                             "interrupted; %llu of %llu trials are in %s, and the same command "
                             "goes on from there",
                             done, expected, request->options.store);
    if (err && last->trials)
        return spex_complain(SPEX_EXIT_FAILED, "%s; %llu of %llu trials are in %s", why, done,
                             expected, request->options.store);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "%s", why);
    if (last->failed)
        fprintf(stderr,
                "spex: %llu of %llu trials failed; the report has the reasons, and --retry-failed "
                "runs them again\n",
                (unsigned long long)last->failed, done);
    if (last->failed == last->trials && last->tried && last->tried >= last->configurations)
        return spex_complain(SPEX_EXIT_FAILED, "no trial has a result, and all were tried");
    if (last->failed == last->trials)
        return spex_complain(SPEX_EXIT_FAILED, "no trial has a result");
    return SPEX_EXIT_OK;
}

static struct spex_repeated complaints = {.who = ""};

static void tell(const char *line) {
    spex_repeated_complain(&complaints, line, spex_clock_ns(CLOCK_MONOTONIC));
}

static int explore(struct request *request, char *why, size_t size) {
    struct spex_trial_master *master = NULL;
    struct spex_error error = {""};
    if (!request->elsewhere.link.url)
        return spex_explore(&request->options, why, size);
    request->elsewhere.tell = tell;
    request->elsewhere.link.name = "spex explore";
    int err = spex_trial_master_open(&request->elsewhere, &master, &error);
    if (err) {
        snprintf(why, size, "%s", error.text);
        return err;
    }
    const struct spex_elsewhere elsewhere = spex_trial_master_elsewhere(master);
    err = spex_explore_elsewhere(&request->options, &elsewhere, why, size);
    spex_trial_master_close(master);
    return err;
}

/* Makes the space of the options, or with what another exploration found, and tells the exploration
 * what that took of the time. An exit status. */
static int make_space(struct request *request) {
    struct spex_explore_options *options = &request->options;
    if (options->space && !request->set.prior)
        return SPEX_EXIT_OK;
    if (options->space) {
        int status = spex_prior_space(options->space, options->store, request->set.prior,
                                      &request->set.space_path);
        options->space = request->set.space_path;
        return status;
    }
    request->set.sets = &request->sets;
    request->set.goals = &request->goals;
    request->set.services = &request->services;
    request->set.readies = &request->readies;
    request->set.argv = options->argv;
    request->set.store = options->store;
    request->set.seconds = options->seconds;
    request->set.stop_fd = options->stop_fd;
    int status = spex_set_explore_prepare(&request->set);
    double passed = (double)(spex_clock_ns(CLOCK_MONOTONIC) - request->begin_ns) / 1e9;
    options->space = request->set.space_path;
    options->store = request->set.store_path;
    options->seconds_before = passed;
    return status;
}

/* Explores, and tells what has come of it. An exit status. */
static int run_exploration(struct request *request) {
    char why[512] = "";
    spex_progress_bar_init(&request->bar, stderr);
    request->options.progress = take_progress;
    request->options.user = request;
    int err = explore(request, why, sizeof(why));
    spex_progress_bar_end(&request->bar);
    spex_repeated_end(&complaints);
    request->over = !err;
    int status = explore_finish(request, err, why);
    if (!err || err == -EINTR)
        tell_verdict(request);
    return status;
}

/* Signals end the exploration through a descriptor that it polls. */
int spex_command_explore(int argc, char **argv) {
    struct request request = {.options = {.size = sizeof(request.options)},
                              .begin_ns = spex_clock_ns(CLOCK_MONOTONIC)};
    int status = explore_parse(argc, argv, &request);
    if (status)
        return status;
    request.options.stop_fd = spex_stop_signals_open();
    if (request.options.stop_fd < 0)
        return spex_complain(SPEX_EXIT_FAILED, "cannot wait for signals: %s", strerror(errno));
    if (request.versus.commands[0]) {
        request.versus.goals = &request.goals;
        request.versus.seconds = request.options.seconds;
        request.versus.stop_fd = request.options.stop_fd;
        status = spex_versus(&request.versus);
    } else if (!(status = make_space(&request))) {
        status = run_exploration(&request);
    }
    close(request.options.stop_fd);
    free(request.set.space_path);
    free(request.set.store_path);
    return status;
}
