/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "process_argument.h"
#include "table.h"
#include "top_feed.h"
#include "top_live.h"

static const char usage[] =
    "usage: spex top PID [-d SECONDS] [-b] [-n COUNT]\n"
    "\n"
    "Shows the probes of the running program PID, with what they have measured in the last\n"
    "interval, and switches them: the key h tells how.\n"
    "\n"
    "  -d SECONDS  from one refresh to the next, 0.05 to 3600; 1\n"
    "  -b          prints tables one after the other, without a terminal, until the program ends\n"
    "  -n COUNT    ends after so many refreshes\n";

struct request {
    uint32_t interval_ms;
    bool batch;
    unsigned long count; /* 0: any number */
    pid_t process;
};

uint32_t spex_top_delay(const char *text) {
    char *end;
    double seconds = strtod(text, &end);
    bool within = end != text && *end == '\0' && seconds >= 0.05 && seconds <= 3600;
    return within ? (uint32_t)(seconds * 1000 + 0.5) : 0;
}

/* -1: help was asked for; else an exit status. */
static int parse(int argc, char **argv, struct request *request) {
    static const struct option known[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    char *end;
    for (int option; (option = getopt_long(argc, argv, "hbd:n:", known, NULL)) != -1;) {
        switch (option) {
        case 'b':
            request->batch = true;
            break;
        case 'd':
            request->interval_ms = spex_top_delay(optarg);
            if (!request->interval_ms)
                return spex_complain(SPEX_EXIT_USAGE,
                                     "top: -d: 0.05 to 3600 seconds were expected, not \"%s\"",
                                     optarg);
            break;
        case 'n':
            errno = 0;
            request->count = strtoul(optarg, &end, 10);
            if (errno || *end || !request->count || *optarg < '0' || *optarg > '9')
                return spex_complain(SPEX_EXIT_USAGE,
                                     "top: -n: a number above 0 was expected, not \"%s\"", optarg);
            break;
        case 'h':
            fputs(usage, stdout);
            return -1;
        default:
            fputs(usage, stderr);
            return SPEX_EXIT_USAGE;
        }
    }
    if (argc - optind != 1) {
        fputs(usage, stderr);
        return spex_complain(SPEX_EXIT_USAGE, "top: one process was expected, not %d",
                             argc - optind);
    }
    return spex_process_argument("top", argv[optind], &request->process);
}

static int print_interval(const struct spex_top_feed *feed) {
    char when[64] = "";
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local))
        strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &local);
    printf("%s  %s %d, %.3f s\n", when, feed->now.process.command, (int)feed->process,
           feed->difference.process.seconds);
    spex_table_print(stdout, &feed->difference);
    putchar('\n');
    return spex_written(stdout);
}

static int print_intervals(struct spex_top_feed *feed, unsigned long count) {
    struct pollfd fds[SPEX_TOP_FEED_FDS];
    unsigned long printed = 0;
    while (feed->state == SPEX_TOP_FOLLOWS || feed->state == SPEX_TOP_SEARCHES) {
        poll(fds, SPEX_TOP_FEED_FDS, spex_top_feed_wait(feed, fds));
        while (spex_top_feed_take(feed)) {
            if (!feed->has_difference)
                continue;
            int err = print_interval(feed);
            if (err)
                return spex_complain(SPEX_EXIT_FAILED, "the table cannot be written: %s",
                                     strerror(-err));
            if (++printed == count)
                return SPEX_EXIT_OK;
        }
    }
    if (feed->state == SPEX_TOP_LEFT)
        return spex_complain(feed->final ? SPEX_EXIT_OK : SPEX_EXIT_FAILED, "%s", feed->why);
    return SPEX_EXIT_OK;
}

int spex_command_top(int argc, char **argv) {
    struct request request = {.interval_ms = 1000};
    struct spex_top_feed feed;
    int status = parse(argc, argv, &request);
    if (status != SPEX_EXIT_OK)
        return status < 0 ? SPEX_EXIT_OK : status;
    if (!request.batch && (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)))
        return spex_complain(SPEX_EXIT_USAGE, "top: standard input and output are no terminal; -b "
                                              "prints tables without one");
    setlocale(LC_CTYPE, "");
    if (spex_top_feed_open(&feed, request.process, request.interval_ms) != 0)
        status = spex_complain(SPEX_EXIT_FAILED, "%s", feed.why);
    else if (request.batch)
        status = print_intervals(&feed, request.count);
    else
        status = spex_top_live(&feed, request.count);
    spex_top_feed_close(&feed);
    return status;
}
