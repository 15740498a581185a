/* SPDX-License-Identifier: MIT */
/* The one header of a program: probes (probe.h, kernel.h), and the functions that start spex,
 * switch probes on and off, report, and stop. A library that only ships probes includes
 * spex/probe.h instead, and needs no libspex.
 *
 *     spex_start(NULL);    what happens is up to the user: SPEX_PROBES, SPEX_OUT, …
 *     …                    the program's work, with probes
 *     spex_stop();         prints or sends what is left
 *
 * Data collection is that of Go and Colmenares (EWiLi'16), sections 2 and 3.1: developers ship
 * probes, users switch on those that they need.
 *
 * Selection of probes (SPEX_PROBES, spex_set; docs/probes.md and spex_probes(7) have all of it).
 * Items are separated by commas; the last item that matches a probe decides:
 *
 *     [WHAT][:TYPE][@PERIOD]
 *         WHAT    a glob over names, an id, or file=GLOB over source files
 *         TYPE    cnt, lat, tpt, llc, flt, ctxsw, perfcntr, snapshot, kernel or
 *                 span
 *         PERIOD  executions per record, the developer's sc when absent; or poll (no records: the
 *                 library looks at regular times whether the probe is being executed); or off
 *     +ITEM,…     adds to the selection in force instead of replacing it
 *     off         nothing, as ""
 *
 * Environment variables. They are stronger than the options, since the user has the last word. They
 * are ignored in set-user-ID programs. One line is written for each unknown name that begins with
 * SPEX_.
 *
 *     SPEX_PROBES         the selection
 *     SPEX_FUNCTIONS      functions that become kernels, in a program compiled for it: functions.h
 *     SPEX_OUT            where metrics go: a file's path, or "-" for standard output; unix:PATH,
 *                         metrics:PATH or record:PATH, the socket of a spex command that takes
 *                         records, metrics or both; ctf:DIR, a folder for a trace instead,
 *                         or ctf:DIR,keep=1G,rotate=64M; standard error when absent
 *     SPEX_OUT_SOCKET     set by spex run: a socket that programs inherit, for those that cannot
 *                         reach the one of SPEX_OUT
 *     SPEX_BUDGET         how much of the program's CPU time probes may take, such as 2%
 *     SPEX_THREAD_BUDGET  how much of any 10 ms one thread may lose to its records, such as 5%
 *     SPEX_RATE_POLICY    how a budget is divided: fair, budget, fixed or hybrid, or the path, with
 *                         a "/", of a shared object with a policy: docs/rate_policies.md
 *     SPEX_PROBING        looks a second at probes with period "poll", 1 to 1000; 100
 *     SPEX_MODELS         a file of models, from spex train: kernels with period "poll" are
 *                         sampled at the rates that the models set
 *     SPEX_SAMPLES        samples of an execution of such a kernel, 0.01 to 1000000; 10
 *     SPEX_COLLECTORS     collector threads
 *     SPEX_RING_RECORDS   records that a ring holds (a ring per CPU and type), a power of two
 *     SPEX_BATCH_RECORDS  records that a collector takes from one ring at a time
 *     SPEX_RING_CPUS      CPUs that have rings of their own; the others share one
 *     SPEX_COMMIT         how records are written into a ring: rseq (restartable sequences) or
 *                         atomic; rseq where the system has it when absent
 *     SPEX_CONTROL        "off": no control socket; else the directory for it, which must be this
 *                         user's alone: docs/probes.md
 *     SPEX_FORKS          "follow": the child of a fork is started already, with the same probes
 *                         and the same output; its first spex_start returns 0 and changes nothing
 *     SPEX_VERBOSE        1: all notes below the table
 *     SPEX_CALIBRATE      0: the costs of probes are not measured at the start
 *     SPEX_COUNTERS       ways of reading page faults, context switches and events that may be
 *                         used, separated by commas; the best that works is. All when absent:
 *                             fault-records   a ring with a record for each fault, mapped
 *                             switch-count    the kernel's count of switches, mapped
 *                             switch-records  a ring with two records for each switch, mapped
 *                             rusage          getrusage, for faults and switches
 *                             rdpmc           the processor's counter, by its instruction
 *                             read            the system call on an event
 *                             none            no other than those named, if any
 *
 * Fork: the child starts clean, with its probes off and without a collector, until it calls
 * spex_start itself (SPEX_FORKS: see above). A program that makes a daemon of itself starts spex in
 * the daemon. Rings are made at a process's first start and keep their size.
 *
 * Errors are negative errno values, with one line on standard error where a person must act. No
 * function here but spex_dump may be called in a signal handler. */
#ifndef SPEX_SPEX_H
#define SPEX_SPEX_H

#include <spex/detail/names_begin.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/compiler.h>
#include <spex/kernel.h>
#include <spex/probe.h>
#include <spex/record.h>
#include <spex/version.h>

SPEX_HEADER_BEGIN_

SPEX_EXTERN_C_BEGIN

/* Options of spex_start. A member that is 0 or NULL has its default, which stands behind the
 * semicolon. */
struct spex_options {
    /* sizeof(struct spex_options) */
    size_t size;
    /* The selection; nothing. */
    const char *probes;
    /* As SPEX_OUT; standard error. */
    const char *out;
    /* Collector threads, 1 to 64; 1. */
    unsigned collectors;
    /* Records a ring holds, a power of two of 2 to 2^24; 8192, for a trace 32768. */
    unsigned ring_records;
    /* Records a collector takes at a time, 1 to 4096; 2000. */
    unsigned batch_records;
    /* CPUs with rings of their own; all that this machine can have. */
    unsigned ring_cpus;
    /* As SPEX_COMMIT. */
    const char *commit;
    /* true: as SPEX_CALIBRATE=0. */
    bool no_calibration;
    /* As SPEX_CONTROL. */
    const char *control;
    /* As SPEX_BUDGET; no budget. */
    const char *budget;
    /* As SPEX_RATE_POLICY. Set-user-ID programs load no shared objects for it. */
    const char *rate_policy;
    /* As SPEX_THREAD_BUDGET; no budget. */
    const char *thread_budget;
    /* As SPEX_FUNCTIONS. Only a process's first start looks at it. */
    const char *functions;
    /* As SPEX_MODELS; no models. */
    const char *models;
    /* As SPEX_SAMPLES; 10. */
    double samples;
    /* true: no thread waits for commands; the program calls spex_poll. */
    bool polls;
    /* As SPEX_WAITS: true: a thread waits for commands from the start, also in a program of one
     * thread. */
    bool waits;
};

/* What is going on. Always: produced = consumed + lost + pending; each of the four is exact while
 * nothing records. */
struct spex_status {
    /* Set by the caller: sizeof(struct spex_status) */
    size_t size;
    /* Sites that are registered, those of them that are on, and those that stay off: there was no
     * room for them, or they have more values than this library can record. */
    uint32_t sites;
    uint32_t sites_on;
    uint32_t sites_refused;
    /* Collector threads that run. */
    uint32_t collectors;
    /* Records that probes made. */
    uint64_t produced;
    /* Of them: taken from a ring by a collector, */
    uint64_t consumed;
    /* overwritten in a ring before they were read, */
    uint64_t lost;
    /* and still in a ring. */
    uint64_t pending;
    /* Of the consumed: not accepted by the output. */
    uint64_t undelivered;
    /* Records that were not made: there was no room for the state of a thread or for a span. */
    uint64_t unrecorded;
    /* Bytes of address space for rings, and for the states of threads that have been made so far.
     * Only what is used takes memory. */
    uint64_t ring_bytes;
    uint64_t thread_bytes;
};

/* Starts spex: reads the environment and the options (NULL: all defaults). With a selection it maps
 * the rings, starts the collectors and switches the selected sites on. Without one it does nothing
 * else; spex_set can do so later.
 *
 * Returns 0, also in a child that SPEX_FORKS=follow has started; -EALREADY when spex is
 * started; -EINVAL for a bad option or variable; -ENOMEM; or the error of starting a thread. After
 * an error spex is stopped, and the program may go on. An output that cannot be opened is no error:
 * one line says so, and the table goes to standard error, or, where nobody listens at a socket, the
 * probes stay off.
 *
 * This function, spex_set and spex_stop leave errno as it is. They are no points of cancellation,
 * and handlers of signals wait until they return. In a function of the program that spex calls they
 * may return -EDEADLK, or -EBUSY where another thread starts or stops spex; in the child of a fork
 * that was made there, -ENOTRECOVERABLE. In a child of a call that runs no handlers of
 * pthread_atfork (_Fork, clone) every function of spex that could wait returns that. */
SPEX_API int spex_start(const struct spex_options *options);

/* Replaces the selection, or adds to it ("+…"). Sites that it does not match are switched off.
 * Sites of libraries that are loaded later obey it, too. An item that matches nothing yet writes
 * one line.
 *
 * Any thread. Returns the number of sites that are on; -EINVAL for bad syntax; -E2BIG when the
 * selection would have more than 64 KiB or 1024 items; -EPERM before spex_start; or an error of
 * spex_start. After an error the selection is as it was. */
SPEX_API int spex_set(const char *probes);

/* The same for a time of 0.05 to 86400 seconds, after which what was selected before holds again:
 * "+…" adds for that time, and a selection without it stands in place of the present one. The time
 * goes on while the process is stopped and while the machine is suspended (CLOCK_BOOTTIME), and a
 * child that follows its parent (SPEX_FORKS) has what is left of it. Called again in time with the
 * same selection, it renews that. Several may overlap: each ends by itself. spex_set ends those of
 * the probes that it decides about, and all of them where it replaces the selection. Errors as of
 * spex_set, also -EINVAL for the time. */
SPEX_API int spex_set_for(const char *probes, double seconds);

/* For a program with an event loop that has set the option `polls`. Starts the thread that answers
 * commands where one has called; does nothing else, and does not wait. To be called when spex_poll_descriptor
 * is readable, or else at least once a second: commands wait for it.
 *
 * Returns 0; 1 when the thread runs, so that this need not be called any more; -EPERM where spex is
 * not started; or the error of starting a thread. */
SPEX_API int spex_poll(void);

/* The descriptor that becomes readable when a command calls, for poll, select or epoll. It stays
 * spex's. Returns -1 when the thread runs, and where there is no control socket. A program that
 * closes descriptors that it does not know calls spex_poll and asks again, a second later. */
SPEX_API int spex_poll_descriptor(void);

/* Asks the flight recorder of this process (spex record --flight) for a dump of the last seconds:
 * what happened before the call is in it. `why`: a text, of which 127 bytes are kept; may be NULL.
 * Does not wait, allocates nothing and leaves the work to the collector, which it wakes. Any
 * thread, and a signal handler. A trace that is written to disk all the time gets a mark instead.
 *
 * Returns 0; -ENOENT when nobody records this process; -EBUSY when another thread has just called
 * and the collector has not looked since: that dump holds what happened now, too. */
SPEX_API int spex_dump(const char *why);

/* Stops spex: switches every site off, collects what is left in the rings, finishes the output and
 * ends the collectors. A program that does not call it is stopped at exit.
 *
 * Returns 0, also when spex is not started; or -EDEADLK or -ENOTRECOVERABLE, as spex_start. */
SPEX_API int spex_stop(void);

/* Fills in *status. Any thread. Returns 0, or -EINVAL for a size that this library does not know.
 * */
SPEX_API int spex_status_get(struct spex_status *status);

/* The cost of one execution of a probe on this machine, in ticks (ticks.h). */
struct spex_cost {
    /* While the probe is off. */
    double test;
    /* Counted but not recorded. */
    double skip;
    /* Recorded: BEGIN and END together. */
    double record;
};

/* Fills in the costs of a type (enum spex_probe_type) as they were measured when the first probe of
 * that type was switched on. Any thread. Returns 0; -EINVAL for a number that is no type; -ENODATA
 * when the costs have not been measured. */
SPEX_API int spex_cost_get(uint32_t probe_type, struct spex_cost *cost);

/* Writes one line about how a type's values are read: which events of the processor LLC counts, or
 * why a counter is not available here. `pcid` is the number of a PERFCNTR's counter, 0 for other
 * types. Any thread; may open and try counters. Returns 0, or -EINVAL. */
SPEX_API int spex_describe(uint32_t probe_type, unsigned pcid, char *text, size_t size);

SPEX_EXTERN_C_END

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
