/* SPDX-License-Identifier: MIT */
/* A program that runs until it is told to end, with a thread that executes probes all the time. It
 * obeys lines on standard input, and answers each with the same line:
 *
 *     stop   spex_stop
 *     start  spex_start
 *     exec   becomes itself anew
 *     load   loads the library in LIVE_PLUGIN and executes its probes
 *     unload unloads it
 *     title  overwrites its arguments, as setproctitle does
 *     room   overwrites its environment, too, as nginx does to have room for a title
 *     crash  ends without a word to spex
 *     end    ends, as at the end of the input */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <spex/probe.h>
#include <spex/spex.h>

enum { QUERY = 1, PARSE = 2, HIT = 3, STATE = 4 };
SPEX_PROBE_NAME(QUERY, "query");
SPEX_PROBE_NAME(PARSE, "query.parse");
SPEX_PROBE_NAME(STATE, "state");

static void parse(void) {
    TPT_PROBE_BEGIN(PARSE, 1);
    for (volatile int i = 0; i < 100; i++)
        continue;
    TPT_PROBE_END(PARSE);
}

static void *work(void *unused) {
    const struct timespec pause = {.tv_nsec = 100000};
    for (unsigned long n = 0;; n++) {
        LAT_PROBE_BEGIN(QUERY, 1);
        parse();
        nanosleep(&pause, NULL);
        LAT_PROBE_END(QUERY);
        CNT_PROBE_BEGIN(HIT, 10);
        CNT_PROBE_END(HIT);
        SNAPSHOT_PROBE(STATE, 1, n, 2 * n);
    }
    return unused;
}

static void *plugin;

static void plugin_load(void) {
    unsigned (*plugin_work)(unsigned times);
    plugin = dlopen(getenv("LIVE_PLUGIN"), RTLD_NOW);
    if (!plugin)
        errx(1, "%s", dlerror());
    *(void **)&plugin_work = dlsym(plugin, "plugin_work");
    plugin_work(100);
}

static void obey(const char *line, char **argv) {
    if (strcmp(line, "stop\n") == 0)
        spex_stop();
    if (strcmp(line, "start\n") == 0)
        spex_start(NULL);
    if (strcmp(line, "exec\n") == 0)
        execv("/proc/self/exe", argv);
    if (strcmp(line, "load\n") == 0)
        plugin_load();
    if (strcmp(line, "unload\n") == 0)
        dlclose(plugin);
    if (strcmp(line, "title\n") == 0)
        memset(argv[0], 's', strlen(argv[0]));
    if (strcmp(line, "room\n") == 0)
        for (char **variable = environ; *variable; variable++)
            memset(*variable, 0, strlen(*variable));
    if (strcmp(line, "crash\n") == 0)
        raise(SIGKILL);
}

static void answer(const char *line) {
    fputs(line, stdout);
    fflush(stdout);
}

int main(int argc, char **argv) {
    char line[64];
    pthread_t worker;
    (void)argc;
    setvbuf(stdin, NULL, _IONBF, 0); /* what follows an exec is left to who comes then */
    if (spex_start(NULL) != 0 || pthread_create(&worker, NULL, work, NULL) != 0)
        errx(1, "cannot start");
    answer("ready\n");
    while (fgets(line, sizeof(line), stdin) && strcmp(line, "end\n") != 0) {
        obey(line, argv);
        answer(line);
    }
    return spex_stop();
}
