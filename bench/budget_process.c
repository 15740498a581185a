/* SPDX-License-Identifier: MIT */
/* The child process: runs the workload, and reports what its spex believes. */
#define _GNU_SOURCE
#include "budget_process.h"

#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spex/atomic.h>
#include <spex/spex.h>

#include "budget_clock.h"
#include "collect/metrics.h"
#include "rate/controller.h"
#include "ring/probe_type.h"

/* How often, and how far apart, a process is looked at that is to tell its belief. */
#define TOLD_LOOKS   1000
#define TOLD_LOOK_NS 100000

static uint64_t now_ns(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        err(1, "clock_gettime");
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The environment overrides the options: SPEX_PROBES and SPEX_RATE_POLICY may say what is
 * measured, but not SPEX_BUDGET. */
static void child_start_spex(const struct budget_setting *setting) {
    struct spex_options options = {.size = sizeof(options),
                                   .probes = setting->probes,
                                   .budget = setting->budget,
                                   .out = "/dev/null"};
    setenv("SPEX_CONTROL", "off", 1);
    unsetenv("SPEX_BUDGET");
    unsetenv("SPEX_OUT");
    if (!*setting->probes)
        unsetenv("SPEX_PROBES");
    if (spex_start(&options) != 0)
        errx(1, "cannot start spex");
}

/* The lock of the metrics makes the figures those of one moment. */
static struct budget_belief belief_now(void) {
    struct budget_belief belief = {0};
    spex_metrics_lock();
    struct spex_controller_totals totals = spex_controller_totals();
    belief.seconds = totals.seconds;
    belief.spent = totals.spent;
    for (unsigned t = 0; spex_metrics_there() && t < SPEX_PROBE_TYPES; t++) {
        struct spex_metrics_totals of_type = spex_metrics_totals(t);
        belief.records += of_type.produced;
        belief.lost += of_type.lost;
        belief.executions += of_type.executions;
    }
    spex_metrics_unlock();
    return belief;
}

/* Binds this thread to the CPU on which both workloads run: other CPUs may be slower for a
 * while. The threads of spex exist already, and are not bound. */
static void child_stay_on(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0)
        err(1, "sched_setaffinity");
}

/* Threads of spex are not bound unless the program is. */
static void child_start_unbound(const struct budget_workload *workload,
                                const struct budget_setting *setting, const cpu_set_t *all) {
    if (workload->bound)
        child_stay_on(setting->cpu);
    else if (sched_setaffinity(0, sizeof(*all), all) != 0)
        err(1, "sched_setaffinity");
    child_start_spex(setting);
    child_stay_on(setting->cpu);
}

/* What the child works with. */
struct child {
    struct budget_shared *shared;
    const struct budget_workload *workload;
    const struct budget_setting *setting;
    cpu_set_t all; /* the CPUs that it had at first */
    /* A thread that sleeps in the place of spex's collector while spex is not started: one of the
     * processes would else have a thread more to be stopped and continued. */
    pthread_t stand_in;
    bool stands_in;
};

static void *thread_sleep(void *arg) {
    for (;;)
        nanosleep(&(struct timespec){.tv_sec = 1000}, NULL);
    return arg;
}

static pthread_t sleeper_start(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_sleep, NULL) != 0)
        errx(1, "cannot start a thread");
    return thread;
}

/* There is no collector where no probe is to be on, and nothing is stopped in a short process. */
static void child_stand_in(struct child *child, bool wanted) {
    const struct budget_setting *setting = child->setting;
    wanted &= setting->threads && !setting->brief && setting->probes && *setting->probes;
    if (wanted && !child->stands_in) {
        child->stand_in = sleeper_start();
    } else if (!wanted && child->stands_in) {
        pthread_cancel(child->stand_in);
        pthread_join(child->stand_in, NULL);
    }
    child->stands_in = wanted;
}

static void child_switch(struct child *child, bool started) {
    if (started) {
        child_stand_in(child, false);
        child_start_unbound(child->workload, child->setting, &child->all);
        return;
    }
    if (spex_stop() != 0)
        errx(1, "cannot stop spex");
    child_stand_in(child, true);
}

/* The parent reads `told` and `belief` while this process is stopped. */
static void child_work(struct child *child, void *state) {
    struct budget_shared *shared = child->shared;
    uint64_t slice = 0, operations = 0, started = shared->started;
    spex_store_relaxed(&shared->begun, 1);
    for (;;) {
        operations += child->workload->work(state);
        spex_store_relaxed(&shared->operations, operations);
        if (spex_load_relaxed(&shared->slice) == slice)
            continue;
        slice = shared->slice;
        if (started != shared->started)
            child_switch(child, shared->started);
        started = shared->started;
        if (started)
            shared->belief = belief_now();
        spex_store_relaxed(&shared->told, slice);
    }
}

static void child_run(pid_t parent, struct budget_shared *shared,
                      const struct budget_workload *workload,
                      const struct budget_setting *setting) {
    struct child child = {.shared = shared, .workload = workload, .setting = setting};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    if (setting->threads)
        budget_clock_set_sleeper(sleeper_start());
    void *state = workload->prepare();
    budget_clock_set(&shared->stopped_ns);
    if (setting->brief)
        raise(SIGSTOP);
    if (sched_getaffinity(0, sizeof(child.all), &child.all) != 0)
        err(1, "sched_getaffinity");
    shared->started = setting->probes && !setting->later;
    if (shared->started)
        child_start_unbound(workload, setting, &child.all);
    else
        child_stand_in(&child, true);
    child_stay_on(setting->cpu);
    if (!setting->brief)
        raise(SIGSTOP);
    child_work(&child, state);
}

static void wait_until_stopped(struct budget_process *process) {
    int status;
    if (waitpid(process->pid, &status, WUNTRACED) != process->pid)
        err(1, "%s", process->name);
    if (!WIFSTOPPED(status))
        errx(1, "%s: the process has ended, by %s %d", process->name,
             WIFSIGNALED(status) ? "signal" : "status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    process->stopped_since = now_ns(CLOCK_MONOTONIC);
}

void budget_process_start(struct budget_process *process, const struct budget_workload *workload,
                          const struct budget_setting *setting) {
    pid_t parent = getpid();
    *process =
        (struct budget_process){.name = workload->name, .can_start = setting->probes != NULL};
    process->shared = mmap(NULL, sizeof(*process->shared), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (process->shared == MAP_FAILED)
        err(1, "mmap");
    process->pid = fork();
    if (process->pid < 0)
        err(1, "fork");
    if (process->pid == 0)
        child_run(parent, process->shared, workload, setting);
    wait_until_stopped(process);
    if (clock_getcpuclockid(process->pid, &process->cpu_clock) != 0)
        errx(1, "%s: no clock of its CPU time", workload->name);
}

void budget_process_switch(struct budget_process *process, bool started) {
    process->shared->started = started && process->can_start;
}

void budget_process_end(struct budget_process *process) {
    kill(process->pid, SIGKILL);
    if (waitpid(process->pid, NULL, 0) != process->pid)
        err(1, "%s", process->name);
    munmap(process->shared, sizeof(*process->shared));
}

uint64_t budget_process_cpu_ns(const struct budget_process *process) {
    return now_ns(process->cpu_clock);
}

uint64_t budget_process_operations(const struct budget_process *process) {
    return spex_load_relaxed(&process->shared->operations);
}

/* Returns the time of the continuation. */
static uint64_t process_continue(struct budget_process *process) {
    struct budget_shared *shared = process->shared;
    uint64_t begin = now_ns(CLOCK_MONOTONIC);
    spex_store_relaxed(&shared->stopped_ns, shared->stopped_ns + begin - process->stopped_since);
    if (kill(process->pid, SIGCONT) != 0)
        err(1, "%s", process->name);
    return begin;
}

static void process_stop(struct budget_process *process) {
    if (kill(process->pid, SIGSTOP) != 0)
        err(1, "%s", process->name);
    wait_until_stopped(process);
}

uint64_t budget_process_run(struct budget_process *process, uint64_t ns) {
    struct budget_shared *shared = process->shared;
    spex_store_relaxed(&shared->slice, shared->slice + 1);
    uint64_t begin = process_continue(process);
    nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
    process_stop(process);
    return process->stopped_since - begin;
}

/* Waits until the process has set the word, but not long. */
static void wait_for(const uint64_t *word, uint64_t value) {
    for (int look = 0; look < TOLD_LOOKS && spex_load_relaxed(word) != value; look++)
        nanosleep(&(struct timespec){.tv_nsec = TOLD_LOOK_NS}, NULL);
}

bool budget_process_run_once(struct budget_process *process, uint64_t ns) {
    struct budget_shared *shared = process->shared;
    process_continue(process);
    wait_for(&shared->begun, 1);
    nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
    spex_store_relaxed(&shared->slice, shared->slice + 1);
    wait_for(&shared->told, shared->slice);
    process_stop(process);
    return shared->told == shared->slice;
}
