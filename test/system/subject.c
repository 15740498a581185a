/* SPDX-License-Identifier: MIT */
/* A program to be explored that does what its configuration says, misbehaviour included; it is in
 * the arguments, "work=200", or when there are none in the file that spex hands over:
 *
 *     work       microseconds that one execution takes, exactly
 *     threads    how many execute
 *     behaviour  what happens after AFTER executions; steady: nothing */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <spex/config.h>
#include <spex/probe.h>
#include <spex/spex.h>

enum { WORK = 1, OTHER = 2, AFTER = 30 };
SPEX_PROBE_NAME(WORK, "work");
SPEX_PROBE_NAME(OTHER, "other");

static int64_t work_us = 100, threads = 1;
static const char *behaviour = "steady";

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static bool behaves(const char *as) {
    return strcmp(behaviour, as) == 0;
}

static void misbehave(void) {
    if (behaves("crash")) {
        signal(SIGSEGV, SIG_DFL); /* also where a sanitizer would catch it */
        raise(SIGSEGV);
    }
    if (behaves("exit")) {
        fprintf(stderr, "first line\nout of work\n\n");
        _exit(3);
    }
    if (behaves("end"))
        exit(0);
    if (behaves("stop")) {
        spex_stop();
        for (;;)
            pause();
    }
    if (behaves("orphan")) { /* who keeps all that is open */
        if (fork() == 0)
            pause();
        _exit(6);
    }
    while (behaves("hang"))
        pause();
    if (behaves("pause")) {
        struct timespec wait = {.tv_nsec = 700000000};
        nanosleep(&wait, NULL);
        behaviour = "steady";
    }
    if (behaves("flood"))
        for (int line = 0; line < 1000; line++)
            puts("a line of output that nobody asked for");
}

static void execute(void) {
    TPT_PROBE_BEGIN(WORK, 1);
    int64_t until = now_ns() + work_us * 1000;
    while (now_ns() < until)
        ;
    TPT_PROBE_END(WORK);
    CNT_PROBE_BEGIN(OTHER, 1);
    CNT_PROBE_END(OTHER);
}

static void *run(void *unused) {
    for (int64_t executions = 1;; executions++) {
        execute();
        if (executions >= AFTER)
            misbehave();
    }
    return unused;
}

static void take(const struct spex_config *config) {
    char why[256];
    const char *text = spex_config_text(config, "behaviour");
    if (text && !(behaviour = strdup(text)))
        errx(1, "out of memory");
    if (spex_config_integer(config, "work", 1, 1000000, &work_us, why, sizeof(why)) == -EINVAL ||
        spex_config_integer(config, "threads", 1, 64, &threads, why, sizeof(why)) == -EINVAL)
        errx(1, "%s", why);
}

static void take_file(void) {
    struct spex_config *config;
    char why[256];
    if (spex_config_receive(&config, why, sizeof(why)) != 0)
        errx(1, "%s", why);
    take(config);
    spex_config_free(config);
}

static void take_argument(const char *argument) {
    if (strncmp(argument, "work=", 5) == 0)
        work_us = atoll(argument + 5);
    else if (strncmp(argument, "threads=", 8) == 0)
        threads = atoll(argument + 8);
    else if (strncmp(argument, "behaviour=", 10) == 0)
        behaviour = argument + 10;
    else
        errx(1, "unknown argument %s", argument);
}

int main(int argc, char **argv) {
    if (argc == 1)
        take_file();
    for (int a = 1; a < argc; a++)
        take_argument(argv[a]);
    if (behaves("early"))
        errx(4, "no database");
    if (behaves("group")) /* out of its process group, into its explorer's */
        setpgid(0, getpgid(getppid()));
    if (behaves("daemon") && fork() == 0) { /* one that outlives it, from afar */
        setsid();
        if (fork() != 0)
            _exit(0);
        for (;;)
            pause();
    }
    if (behaves("twice") && fork() == 0) {
        if (spex_start(NULL) != 0)
            return 5;
        run(NULL);
    }
    if (behaves("silent"))
        fprintf(stderr, "waiting for a licence\n");
    if (behaves("stubborn"))
        signal(SIGTERM, SIG_IGN);
    if (!behaves("plain") && spex_start(NULL) != 0)
        return 5;
    while (behaves("silent"))
        pause();
    for (int64_t t = 1; t < threads; t++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run, NULL) != 0)
            errx(1, "cannot start a thread");
    }
    run(NULL);
}
