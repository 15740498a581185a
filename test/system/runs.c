/* SPDX-License-Identifier: MIT */
/* What `spex run` runs in the tests. Works 1,000 times, as request:lat and step:cnt, one record for
 * each execution.
 *
 *     runs MODE [ARGUMENT…]
 *
 *     copies        copies its input to its output, says "words" on standard error
 *     exits N       ends with status N
 *     dies N        of signal N
 *     forks         a child works that does not start spex
 *     starts        a child works that does
 *     becomes PROGRAM…   without stopping spex
 *     leaves FILE   a daemon that works, and says "off" in FILE once its probes are off; "ready PID" when it has worked
 *     lasts         works, says "ready PID", ends with its input
 *     watched FILE  says "ready PID" when it has worked, and "off" in FILE once its probes are off
 *     hears [group] says "ready PID", sends SIGUSR1 to its group, says what signals it gets; ends with status 3 after
 *                   SIGUSR2
 *     overruns      works 20 times more, and ends without stopping spex
 *     closes        all descriptors but the first three after the start; then as lasts
 *     waits         says "ready PID", waits for its end */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <spex/probe.h>
#include <spex/spex.h>

enum { REQUEST = 7, STEP = 8 };

SPEX_PROBE_NAME(REQUEST, "request");
SPEX_PROBE_NAME(STEP, "step");

static volatile unsigned sink;

/* gcc's ThreadSanitizer dies when the child of a fork starts threads; AddressSanitizer leaves
 * the child with a lock held that a thread of the parent had taken to allocate memory. */
#if defined(__SANITIZE_ADDRESS__) || (defined(__SANITIZE_THREAD__) && !defined(__clang__))
enum { FORKS = 0 };
#else
enum { FORKS = 1 };
#endif

static void work(void) {
    for (unsigned i = 0; i < 1000; i++) {
        LAT_PROBE_BEGIN(REQUEST, 1);
        CNT_PROBE_BEGIN(STEP, 1);
        sink += i;
        CNT_PROBE_END(STEP);
        LAT_PROBE_END(REQUEST);
    }
}

static void say(const char *format, int number) {
    printf(format, number);
    fflush(stdout);
}

static int copies(void) {
    char text[4096];
    for (size_t got; (got = fread(text, 1, sizeof(text), stdin)) > 0;)
        fwrite(text, 1, got, stdout);
    fputs("words\n", stderr);
    return 0;
}

static int dies(int number) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    raise(number);
    return 0;
}

static int child_works(bool starts) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        if (starts)
            spex_start(NULL);
        work();
        spex_stop();
        _exit(0);
    }
    return waitpid(child, &status, 0) == child ? status : -1;
}

/* Nobody tells a program that its probes are off. */
static int watch(const char *path) {
    const struct timespec while_on = {.tv_nsec = 1000000};
    struct spex_status status = {.size = sizeof(status)};
    say("ready %d\n", getpid());
    while (spex_status_get(&status) == 0 && status.sites_on)
        nanosleep(&while_on, NULL);
    FILE *file = fopen(path, "w");
    return file && fputs("off", file) >= 0 && fclose(file) == 0 ? 0 : 1;
}

/* The parent ends when the daemon has worked. */
static int leaves(const char *path) {
    int ready[2];
    char byte;
    if (pipe(ready) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        spex_start(NULL);
        work();
        close(ready[0]);
        if (write(ready[1], "", 1) != 1)
            exit(1);
        exit(watch(path));
    }
    return read(ready[0], &byte, 1) == 1 ? 0 : 1;
}

static int lasts(void) {
    say("ready %d\n", getpid());
    while (getchar() != EOF)
        work();
    return 0;
}

static int hears(bool group) {
    sigset_t set;
    siginfo_t info = {.si_signo = 0};
    sigfillset(&set);
    sigdelset(&set, SIGTSTP);
    say("ready %d\n", getpid());
    if (group)
        kill(0, SIGUSR1);
    while (info.si_signo != SIGUSR2)
        if (sigwaitinfo(&set, &info) > 0 && info.si_signo != SIGCHLD)
            say("got %d\n", info.si_signo);
    return 3;
}

/* As daemons do; and takes the numbers for files of its own. */
static void close_all(void) {
    int fd;
    closefrom(STDERR_FILENO + 1);
    do
        fd = open("/dev/null", O_WRONLY);
    while (fd >= 0 && fd < 64);
}

static int run(const char *mode, char **arguments) {
    const char *first = arguments[0] ? arguments[0] : "";
    if (strcmp(mode, "copies") == 0)
        return copies();
    if (strcmp(mode, "exits") == 0)
        return atoi(first);
    if (strcmp(mode, "dies") == 0)
        return dies(atoi(first));
    if (strcmp(mode, "forks") == 0 || strcmp(mode, "starts") == 0)
        return child_works(*mode == 's');
    if (strcmp(mode, "becomes") == 0)
        return execv(first, arguments);
    if (strcmp(mode, "leaves") == 0)
        return leaves(first);
    if (strcmp(mode, "lasts") == 0)
        return lasts();
    if (strcmp(mode, "watched") == 0)
        return watch(first);
    if (strcmp(mode, "hears") == 0)
        return hears(strcmp(first, "group") == 0);
    if (strcmp(mode, "overruns") == 0) {
        for (int i = 0; i < 20; i++)
            work();
        _exit(0);
    }
    if (strcmp(mode, "waits") == 0) {
        say("ready %d\n", getpid());
        return pause();
    }
    return strcmp(mode, "closes") == 0 ? lasts() : 99;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "exits";
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGTSTP);
    if (strcmp(mode, "hears") == 0)
        sigprocmask(SIG_BLOCK, &all, NULL);
    if (!FORKS &&
        (strcmp(mode, "forks") == 0 || strcmp(mode, "starts") == 0 || strcmp(mode, "leaves") == 0))
        return 77;
    spex_start(NULL);
    if (strcmp(mode, "closes") == 0)
        close_all();
    work();
    return run(mode, argc > 2 ? argv + 2 : argv + argc);
}
