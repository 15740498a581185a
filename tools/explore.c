/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <spex/explore.h>

#include "command.h"
#include "progress.h"
#include "stop_signals.h"

static const char usage[] =
    "usage: spex explore SPACE.xml --store FILE.db [--policy NAME] -- PROGRAM [ARGUMENT…]\n"
    "\n"
    "Runs PROGRAM once for each configuration that the policy asks for, and keeps every\n"
    "finished trial in FILE.db. Started again with the same arguments, it goes on there.\n"
    "\n"
    "  --store FILE.db  where the trials go\n"
    "  --policy NAME    which configurations to try: gaussian (the default; few runs, by a\n"
    "                   model of the results so far), climb, grid (all of them), halving,\n"
    "                   random, sensitivity, tpe, or ./FILE.so, a policy of your own\n"
    "  --jobs N         run N trials at a time, each on CPU cores of its own\n"
    "  --share-cpus     with --jobs: let them share the CPUs, and disturb each other\n"
    "  --mixed          go on in FILE.db on another machine or kernel or with another build\n"
    "  --retry-failed   run those trials again that are in FILE.db as failed\n"
    "\n"
    "PROGRAM must have been built with spex. Each time it finds its configuration in the file\n"
    "named by SPEX_CONFIG, and {NAME} in an argument is the value of that parameter. Ctrl-C\n"
    "ends the exploration; what is finished stays.\n";

struct request {
    struct spex_explore_options options;
    struct spex_progress_bar bar;
    struct spex_progress last; /* its texts are not valid any more */
};

static void take_progress(void *user, const struct spex_progress *progress) {
    struct request *request = user;
    request->last = *progress;
    spex_progress_bar_show(&request->bar, progress);
}

static bool take_jobs(const char *text, unsigned *jobs) {
    char *end;
    unsigned long value = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    if (value == 0 || *end || value > 1000000)
        return false;
    *jobs = (unsigned)value;
    return true;
}

static int parse(int argc, char **argv, struct request *request) {
    static const struct option known[] = {
        {"store", required_argument, NULL, 's'}, {"policy", required_argument, NULL, 'p'},
        {"jobs", required_argument, NULL, 'j'},  {"share-cpus", no_argument, NULL, 'c'},
        {"mixed", no_argument, NULL, 'm'},       {"retry-failed", no_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0}};
    struct spex_explore_options *options = &request->options;
    int separator = spex_command_separator(argc, argv);
    for (int option; (option = getopt_long(separator, argv, "h", known, NULL)) != -1;) {
        switch (option) {
        case 's':
            options->store = optarg;
            break;
        case 'p':
            options->policy = optarg;
            break;
        case 'j':
            if (!take_jobs(optarg, &options->jobs))
                return spex_complain(SPEX_EXIT_USAGE,
                                     "explore: --jobs %s: a whole number from 1 was expected",
                                     optarg);
            break;
        case 'c':
            options->share_cpus = true;
            break;
        case 'm':
            options->mixed = true;
            break;
        case 'r':
            options->retry_failed = true;
            break;
        case 'h':
            fputs(usage, stdout);
            return -1;
        default:
            fputs(usage, stderr);
            return SPEX_EXIT_USAGE;
        }
    }
    if (separator - optind != 1)
        return spex_complain(SPEX_EXIT_USAGE, "explore: one space was expected, not %d%s",
                             separator - optind,
                             separator == argc ? "; the program goes after \"--\"" : "");
    if (!options->store)
        return spex_complain(SPEX_EXIT_USAGE, "explore: --store FILE.db was expected");
    if (separator + 1 >= argc)
        return spex_complain(SPEX_EXIT_USAGE, "explore: \"-- PROGRAM\" was expected");
    options->space = argv[optind];
    options->argv = &argv[separator + 1];
    return 0;
}

static int finish(const struct request *request, int err, const char *why) {
    const struct spex_progress *last = &request->last;
    unsigned long long done = last->trials, expected = last->trials_expected;
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
    if (last->failed == last->trials)
        return spex_complain(SPEX_EXIT_FAILED, "no trial has a result");
    return SPEX_EXIT_OK;
}

int spex_command_explore(int argc, char **argv) {
    struct request request = {.options = {.size = sizeof(request.options)}};
    char why[512] = "";
    int bad = parse(argc, argv, &request);
    if (bad)
        return bad < 0 ? SPEX_EXIT_OK : bad;
    request.options.stop_fd = spex_stop_signals_open();
    if (request.options.stop_fd < 0)
        return spex_complain(SPEX_EXIT_FAILED, "cannot wait for signals: %s", strerror(errno));
    spex_progress_bar_init(&request.bar, stderr);
    request.options.progress = take_progress;
    request.options.user = &request;
    int err = spex_explore(&request.options, why, sizeof(why));
    spex_progress_bar_end(&request.bar);
    close(request.options.stop_fd);
    return finish(&request, err, why);
}
