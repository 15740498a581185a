/* SPDX-License-Identifier: MIT */
/* Programs that do to their process what programs do. Each behaviour ends by itself with the status
 * that the table at the end says, or exits with BROKEN where its own data is not as it left it.
 *
 *   hosts --list               a line for each behaviour: its name and its status
 *   hosts BEHAVIOUR [PLUGIN CONSTRUCTED]   HOST_TIMES in the environment: how often it does it */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spex/probe.h>
#include <spex/spex.h>
#include <spex/tune.h>
#include <spex/watch.h>

enum { BROKEN = 99, ENDED = 7, THREADS = 3 };

static long times;
static const char *plugin, *constructed, *self;

/* Where something that is the program's is not as it left it. */
_Noreturn static void broken(const char *what) {
    fprintf(stderr, "hosts: %s: %s\n", what, strerror(errno));
    _exit(BROKEN);
}

static void expect(bool holds, const char *what) {
    if (!holds)
        broken(what);
}

__attribute__((noinline)) static void work(unsigned executions) {
    while (executions-- > 0) {
        SPEX_LAT_SCOPE("host.work", 1);
        SPEX_CNT_SCOPE("host.count", 1);
        SPEX_FLT_SCOPE("host.faults", 1);
        SPEX_KERNEL_SCOPE("host.kernel", 1, executions);
        SNAPSHOT_PROBE(40, 1, executions);
        SPEX_SPAN_BEGIN("host.span", executions);
        SPEX_SPAN_END("host.span", executions);
        for (volatile int i = 0; i < 50; i++)
            continue;
    }
}

static bool ending;

static void *worker(void *arg) {
    while (!__atomic_load_n(&ending, __ATOMIC_RELAXED))
        work(200);
    return arg;
}

static void workers_start(pthread_t threads[THREADS]) {
    for (int t = 0; t < THREADS; t++)
        expect(pthread_create(&threads[t], NULL, worker, NULL) == 0, "pthread_create");
}

static void workers_end(pthread_t threads[THREADS]) {
    __atomic_store_n(&ending, true, __ATOMIC_RELAXED);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
}

static void child_await(pid_t child) {
    int status;
    expect(child > 0, "no child");
    expect(waitpid(child, &status, 0) == child, "waitpid");
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child's status");
}

static void fork_once(void) {
    pid_t child = fork();
    if (child == 0) {
        work(20);
        _exit(0);
    }
    child_await(child);
}

static int forks(void) {
    for (long f = 0; f < times; f++) {
        work(500);
        fork_once();
    }
    return 0;
}

static int forks_that_exit(void) {
    for (long f = 0; f < times / 4; f++) {
        work(500);
        pid_t child = fork();
        if (child == 0) {
            work(20);
            exit(0);
        }
        child_await(child);
    }
    return 0;
}

/* Nothing of spex waits for an owner that is not there. A program that has not started spex is
 * answered as before. */
static bool every_function_refuses(void) {
    char text[256];
    struct spex_tune_report report = {.size = sizeof(report)};
    struct spex_watch_account account = {.size = sizeof(account)};
    const int refused = spex_set("+host.work");
    (void)SET_PERFCNTR(1, 0xc0, 0);
    (void)spex_watch_stop();
    (void)spex_tune_stop();
    (void)spex_stop();
    return refused == -EPERM ||
           (refused == -ENOTRECOVERABLE && spex_poll() == refused &&
            spex_tune_look(&report) == refused && spex_watch_look(&account) == refused &&
            spex_describe(SPEX_LLC, 0, text, sizeof(text)) == refused);
}

/* As _Fork, or clone in what isolates programs: no handler of forks runs. */
static int forks_without_handlers(void) {
    for (long f = 0; f < times / 4; f++) {
        work(500);
        pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (child == 0) {
            work(20);
            expect(every_function_refuses(), "a function of spex in a child without handlers");
            if (f % 2)
                fork_once();
            exit(0);
        }
        child_await(child);
    }
    return 0;
}

static void *forker(void *arg) {
    for (long f = 0; f < times / THREADS; f++) {
        work(200);
        fork_once();
    }
    return arg;
}

static int forks_of_threads(void) {
    pthread_t threads[THREADS], busy[THREADS];
    workers_start(busy);
    for (int t = 0; t < THREADS; t++)
        expect(pthread_create(&threads[t], NULL, forker, NULL) == 0, "pthread_create");
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    workers_end(busy);
    return 0;
}

static volatile sig_atomic_t handled;

static void fork_handle(int signal) {
    (void)signal;
    int before = errno;
    fork_once();
    handled++;
    errno = before;
}

static void handle(void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
}

/* A signal at some time within the next five milliseconds, later each time. Its handler may take
 * longer, so that it does not come by itself again. */
static void signal_soon(void) {
    static long us;
    us = (us + 713) % 5000;
    const struct itimerval timer = {{0, 0}, {0, us + 1}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Whatever the mode, spex starts, sets and stops all the time. It may say that it cannot. */
static void selections_change(void) {
    spex_set("+host.work");
    work(50);
    spex_stop();
    if (spex_start(NULL) != 0)
        work(50);
}

static int forks_in_a_handler(void) {
    handle(fork_handle);
    for (long f = 0; f < times / 10; f++) {
        signal_soon();
        do
            selections_change();
        while (handled <= f);
    }
    return 0;
}

static void exit_handle(int signal) {
    (void)signal;
    exit(ENDED);
}

static int exit_in_a_handler(void) {
    handle(exit_handle);
    signal_soon();
    while (times)
        selections_change();
    return 0;
}

static sigjmp_buf back;

static void jump_handle(int signal) {
    (void)signal;
    siglongjmp(back, 1);
}

static int jumps_out_of_a_handler(void) {
    static volatile long jumps;
    handle(jump_handle);
    sigsetjmp(back, 1);
    if (jumps++ < times / 10)
        for (signal_soon();;)
            selections_change();
    return 0;
}

static void *exiter(void *arg) {
    (void)arg;
    work(2000);
    exit(ENDED);
}

static int exit_of_a_thread(void) {
    pthread_t threads[THREADS], last;
    workers_start(threads);
    pthread_create(&last, NULL, exiter, NULL);
    pause();
    return 0;
}

static bool left_first;

/* The exit handlers run, and then the status is theirs. */
static void at_exit(void) {
    work(10);
    if (left_first)
        _exit(ENDED);
}

static void *last_thread(void *arg) {
    work(2000);
    return arg;
}

static int pthread_exit_of_main(void) {
    pthread_t thread;
    left_first = true;
    atexit(at_exit);
    pthread_create(&thread, NULL, last_thread, NULL);
    pthread_detach(thread);
    pthread_exit(NULL);
}

/* What all threads have blocked still ends nothing. */
static int pthread_exit_with_a_pending_signal(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    kill(getpid(), SIGTERM);
    return pthread_exit_of_main();
}

static void nobody(void) {
    if (geteuid() == 0)
        expect(setgid(65534) == 0 && setuid(65534) == 0, "setuid");
}

/* No thread may begin any more. */
static int pthread_exit_of_the_last_that_may_begin(void) {
    const struct rlimit none = {0, 0};
    pthread_t thread;
    left_first = true;
    atexit(at_exit);
    nobody();
    pthread_create(&thread, NULL, last_thread, NULL);
    pthread_detach(thread);
    setrlimit(RLIMIT_NPROC, &none);
    pthread_exit(NULL);
}

static void *selector(void *arg) {
    for (;;) {
        spex_set("+host.work");
        work(10);
        pthread_testcancel();
    }
    return arg;
}

static int cancelled_threads(void) {
    for (long c = 0; c < times / 5; c++) {
        pthread_t thread;
        void *result;
        expect(pthread_create(&thread, NULL, c % 2 ? selector : worker, NULL) == 0,
               "pthread_create");
        pthread_cancel(thread);
        __atomic_store_n(&ending, c % 2 == 0, __ATOMIC_RELAXED);
        pthread_join(thread, &result);
        expect(c % 2 == 0 || result == PTHREAD_CANCELED, "it was not cancelled");
        __atomic_store_n(&ending, false, __ATOMIC_RELAXED);
    }
    fork_once();
    return 0;
}

static int vforks(void) {
    char *const arguments[] = {(char *)"true", NULL};
    extern char **environ;
    for (volatile long f = 0; f < times / 4; f++) {
        work(200);
        pid_t child = vfork();
        if (child == 0)
            _exit(0);
        child_await(child);
        expect(posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0, "posix_spawn");
        child_await(child);
    }
    return 0;
}

static int becomes_another(void) {
    work(1000);
    execl(self, self, "ends", (char *)NULL);
    broken("execl");
}

static int becomes_another_from_a_thread_and_a_child(void) {
    work(1000);
    pid_t child = fork();
    if (child == 0)
        execl(self, self, "ends", (char *)NULL);
    int status;
    expect(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == ENDED,
           "the child's status");
    return 0;
}

enum { FILES = 60 };

static void file_name(char name[64], int f) {
    snprintf(name, 64, "host-%d-%02d", (int)getpid(), f);
}

/* Files of the program at the numbers that it has closed. All are as it left them. */
static int closes_descriptors(void) {
    int fds[FILES];
    char name[64], text[8];
    work(500);
    closefrom(3);
    for (int f = 0; f < FILES; f++) {
        file_name(name, f);
        fds[f] = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        expect(fds[f] >= 0 && write(fds[f], "mine", 4) == 4, "write");
    }
    for (long t = 0; t < times; t++) {
        work(100);
        sched_yield();
    }
    spex_set("+host.count");
    spex_stop();
    for (int f = 0; f < FILES; f++) {
        expect(lseek(fds[f], 0, SEEK_CUR) == 4, "a file was written to or closed");
        expect(pread(fds[f], text, 8, 0) == 4 && memcmp(text, "mine", 4) == 0,
               "a file has changed");
        expect(close(fds[f]) == 0, "close");
        file_name(name, f);
        unlink(name);
    }
    return 0;
}

/* Its table of descriptors is full all the time. */
static int descriptors_run_out(void) {
    const struct rlimit few = {16, 16};
    int fds[16], count = 0;
    setrlimit(RLIMIT_NOFILE, &few);
    while (count < 16 && (fds[count] = dup(0)) >= 0)
        count++;
    for (long t = 0; t < times; t++)
        selections_change();
    while (count > 0)
        expect(close(fds[--count]) == 0, "close");
    return 0;
}

static int little_memory(void) {
    const struct rlimit none = {1, 1};
    work(100);
    setrlimit(RLIMIT_AS, &none);
    for (long t = 0; t < times; t++)
        selections_change();
    return 0;
}

static int no_files_may_grow(void) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_FSIZE, &none);
    for (long t = 0; t < times; t++)
        work(200);
    return 0;
}

static void *little_stack_run(void *arg) {
    work(100);
    return arg;
}

static int little_stacks(void) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 32 << 10);
    for (long t = 0; t < times; t++) {
        pthread_t thread;
        expect(pthread_create(&thread, &attributes, little_stack_run, NULL) == 0, "pthread_create");
        pthread_join(thread, NULL);
    }
    return 0;
}

static void load_and_unload(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "hosts: %s\n", dlerror());
        _exit(BROKEN);
    }
    work(20);
    expect(dlclose(library) == 0, "dlclose");
}

static int unloads_a_library(void) {
    for (long l = 0; l < times; l++)
        load_and_unload(plugin);
    return 0;
}

/* Handlers of forks, which this program has before it starts spex. One waits for a thread that loads
 * a library with probes and calls spex, and each forks. */
static bool handlers_act;

static void *worker_of_handler(void *arg) {
    struct spex_status status = {.size = sizeof(status)};
    load_and_unload(plugin);
    (void)spex_set("+host.work");
    (void)spex_status_get(&status);
    return arg;
}

static void handler_act(void) {
    struct spex_status status = {.size = sizeof(status)};
    pthread_t thread;
    if (!handlers_act)
        return;
    handlers_act = false;
    (void)spex_status_get(&status);
    (void)spex_poll_descriptor();
    expect(pthread_create(&thread, NULL, worker_of_handler, NULL) == 0, "pthread_create");
    pthread_join(thread, NULL);
    fork_once();
    handlers_act = true;
}

__attribute__((constructor)) static void handlers_install(void) {
    pthread_atfork(handler_act, handler_act, NULL);
}

static int handles_forks(void) {
    for (long f = 0; f < times / 10; f++) {
        handlers_act = true;
        work(200);
        fork_once();
        handlers_act = false;
        expect(spex_set("+host.count") != -ENOTRECOVERABLE, "spex_set after a fork");
    }
    return 0;
}

static void *loader(void *arg) {
    while (!__atomic_load_n(&ending, __ATOMIC_RELAXED))
        load_and_unload(constructed);
    return arg;
}

/* Who has the loader calls spex, and the other way round. */
static int loads_what_calls_spex(void) {
    pthread_t thread;
    expect(pthread_create(&thread, NULL, loader, NULL) == 0, "pthread_create");
    for (long t = 0; t < times / 5; t++)
        selections_change();
    __atomic_store_n(&ending, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    return 0;
}

static int becomes_nobody(void) {
    work(100);
    nobody();
    for (long t = 0; t < times; t++)
        selections_change();
    fork_once();
    return 0;
}

static int changes_its_root(void) {
    work(100);
    if (geteuid() == 0)
        expect(mkdir("root", 0700) == 0 && chroot("root") == 0 && chdir("/") == 0, "chroot");
    for (long t = 0; t < times; t++)
        selections_change();
    return 0;
}

static int is_killed(void) {
    work(1000);
    kill(getpid(), SIGTERM);
    pause();
    return 0;
}

static int aborts(void) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    work(1000);
    abort();
}

static int leaves_at_once(void) {
    work(1000);
    _exit(ENDED);
}

static int leaves_quickly(void) {
    work(1000);
    quick_exit(ENDED);
}

static int ends(void) {
    work(1000);
    return ENDED;
}

static int ends_while_threads_work(void) {
    pthread_t threads[THREADS];
    workers_start(threads);
    work(2000);
    return ENDED;
}

static int daemonises(void) {
    int pair[2];
    char status = BROKEN;
    expect(pipe2(pair, O_CLOEXEC) == 0, "pipe2");
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        work(1000);
        status = 0;
        expect(write(pair[1], &status, 1) == 1, "write");
        exit(0);
    }
    child_await(child);
    close(pair[1]);
    expect(read(pair[0], &status, 1) == 1, "the daemon has not worked");
    return status;
}

/* The program's own parts of spex: it watches itself by the models of HOST_MODELS, and tunes itself
 * where HOST_TUNES is set. */
static void told(void *user, const struct spex_watch_anomaly *anomaly) {
    (void)user;
    (void)anomaly;
}

static int configure(void *user, const struct spex_space *space, const size_t *levels) {
    (void)user;
    (void)space;
    (void)levels;
    return 0;
}

static void begin(void) {
    static const struct spex_parameter parameter = {
        .name = "size", .unit = "", .kind = SPEX_BOOLEAN, .count = 2};
    static const struct spex_criterion criterion = {
        .probe = "host.work:lat", .metric = "throughput", .goal = SPEX_MAXIMISE};
    static const struct spex_space space = {.size = sizeof(space),
                                            .name = "host",
                                            .parameter_count = 1,
                                            .parameters = &parameter,
                                            .threads_parameter = 1,
                                            .criterion_count = 1,
                                            .criteria = &criterion};
    char why[256] = "";
    const struct spex_watch_options watch = {
        .size = sizeof(watch), .models = getenv("HOST_MODELS"), .told = told};
    const struct spex_tune_options tune = {.size = sizeof(tune),
                                           .space = &space,
                                           .policy = spex_policy_named("random"),
                                           .configure = configure};
    spex_start(NULL);
    if ((watch.models && spex_watch_start(&watch, why, sizeof(why)) != 0) ||
        (getenv("HOST_TUNES") && spex_tune_start(&tune, why, sizeof(why)) != 0)) {
        fprintf(stderr, "hosts: %s\n", why);
        exit(BROKEN);
    }
}

#define HOST(name, status)                                                                         \
    { #name, name, status }

static const struct {
    const char *name;
    int (*run)(void);
    /* As of subprocess: negative where a signal ends it. */
    int status;
} hosts[] = {
    HOST(forks, 0),
    HOST(forks_that_exit, 0),
    HOST(forks_without_handlers, 0),
    HOST(handles_forks, 0),
    HOST(forks_of_threads, 0),
    HOST(forks_in_a_handler, 0),
    HOST(exit_in_a_handler, ENDED),
    HOST(jumps_out_of_a_handler, 0),
    HOST(exit_of_a_thread, ENDED),
    HOST(pthread_exit_of_main, ENDED),
    HOST(pthread_exit_with_a_pending_signal, ENDED),
    HOST(pthread_exit_of_the_last_that_may_begin, ENDED),
    HOST(cancelled_threads, 0),
    HOST(vforks, 0),
    HOST(becomes_another, ENDED),
    HOST(becomes_another_from_a_thread_and_a_child, 0),
    HOST(closes_descriptors, 0),
    HOST(descriptors_run_out, 0),
    HOST(little_memory, 0),
    HOST(no_files_may_grow, 0),
    HOST(little_stacks, 0),
    HOST(unloads_a_library, 0),
    HOST(loads_what_calls_spex, 0),
    HOST(becomes_nobody, 0),
    HOST(changes_its_root, 0),
    HOST(is_killed, -SIGTERM),
    HOST(aborts, -SIGABRT),
    HOST(leaves_at_once, ENDED),
    HOST(leaves_quickly, ENDED),
    HOST(ends, ENDED),
    HOST(ends_while_threads_work, ENDED),
    HOST(daemonises, 0),
};

enum { HOSTS = sizeof(hosts) / sizeof(hosts[0]) };

int main(int argc, char **argv) {
    const char *said = getenv("HOST_TIMES");
    times = said ? strtol(said, NULL, 10) : 100;
    self = argv[0];
    plugin = argc > 2 ? argv[2] : NULL;
    constructed = argc > 3 ? argv[3] : NULL;
    for (int h = 0; argc == 2 && strcmp(argv[1], "--list") == 0 && h < HOSTS; h++)
        printf("%s %d\n", hosts[h].name, hosts[h].status);
    for (int h = 0; argc > 1 && h < HOSTS; h++)
        if (strcmp(argv[1], hosts[h].name) == 0) {
            begin();
            return hosts[h].run();
        }
    return 0;
}
