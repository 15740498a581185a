/* SPDX-License-Identifier: MIT */
/* Control of spex inside a program: start, switch probes, look, stop.
 *
 *     spex_start(NULL);    what happens is up to the user: SPEX_PROBES, SPEX_OUT, …
 *     …                    the program's work, with probes from spex/probe.h
 *     spex_stop();         prints or sends what is left
 *
 * Selection of probes (SPEX_PROBES, spex_set; docs/probes.md and spex_probes(7) have all of it): items
 * separated by commas, the last that matches a probe decides:
 *
 *     [WHAT][:TYPE][@PERIOD]   WHAT: a glob over names, an id, or file=GLOB over source files
 *                              TYPE: cnt, lat, tpt, llc, flt, ctxsw, perfcntr or snapshot
 *                              PERIOD: executions per record, the developer's sc when absent; or probe (no
 *                              records; the share of time that it is executed is seen by looking); or off
 *     +ITEM,…                  behind the items there are, instead of replacing them
 *     off                      nothing, as ""
 *
 * Environment (ignored in set-user-ID programs; stronger than the options, since the user has the last
 * word; one line is written for each SPEX_… of an unknown name):
 *
 *     SPEX_PROBES         the selection
 *     SPEX_FUNCTIONS      functions that are to be kernels, of a program compiled for it: spex/functions.h
 *     SPEX_OUT            where metrics go: "-" standard output, a file's path, or unix:PATH, the
 *                         socket of a spex command that takes records, or metrics:PATH, of one that
 *                         takes metrics; standard error when absent
 *     SPEX_BUDGET         how much of the program's time probes may take, such as 2%; see docs/probes.md
 *     SPEX_THREAD_BUDGET  how much of any 10 ms one thread may lose to its records, such as 5%
 *     SPEX_RATE_POLICY    how a budget is shared out: fair, budget, fixed or hybrid, or the path, with a "/", of a shared
 *                         object with a policy of somebody else's; see docs/rate_policies.md
 *     SPEX_PROBING        how often a second is looked at what is probed, 1 to 1000; 100
 *     SPEX_MODELS         a file of models, from spex train: kernels that are probed are sampled as often as these say
 *     SPEX_SAMPLES        so many times an execution, 0.01 to 1000000; 10
 *     SPEX_COLLECTORS     collector threads
 *     SPEX_RING_RECORDS   records a ring holds (a ring per CPU and type), a power of two
 *     SPEX_BATCH_RECORDS  records a collector takes from one ring at a time
 *     SPEX_RING_CPUS      CPUs that have rings of their own; the others share one
 *     SPEX_COMMIT         how records get into a ring: rseq (restartable sequences) or atomic;
 *                         rseq where the system has it when absent
 *     SPEX_CONTROL        "off": there is no control socket; else the directory that it is to be in, which must be
 *                         this user's alone; see docs/probes.md
 *     SPEX_FORKS          "follow": the child of a fork is started already, with the same probes and the
 *                         same output; its own first spex_start returns 0 and changes nothing
 *     SPEX_CALIBRATE      0: probes' costs are not measured at the start
 *     SPEX_COUNTERS       ways of reading page faults, context switches and events that may be used,
 *                         separated by commas; the best that works is. All when absent:
 *                             fault-records   a ring with a record for each fault, mapped
 *                             switch-count    the kernel's count of switches, mapped
 *                             switch-records  a ring with two records for each switch, mapped
 *                             rusage          getrusage, for faults and switches
 *                             rdpmc           the processor's counter, by its instruction
 *                             read            the system call on an event
 *                             none            no other than those named, if any
 *
 * The child of a fork starts clean: its probes are off and it has no collector, until it calls
 * spex_start itself; a program that makes a daemon of itself starts spex in the daemon. Rings are made
 * at a process's first start, and stay as they are.
 *
 * Errors are negative errno values, and one line on standard error where a person must act. */
#ifndef SPEX_SPEX_H
#define SPEX_SPEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/compiler.h>
#include <spex/record.h>

#define SPEX_VERSION "0.1.0"

SPEX_EXTERN_C_BEGIN

/* Zero or NULL leaves a member at its default. */
struct spex_options {
    size_t size;            /* sizeof(struct spex_options) */
    const char *probes;     /* selection; none */
    const char *out;        /* as SPEX_OUT */
    unsigned collectors;    /* threads, 1 to 64; 1 */
    unsigned ring_records;  /* power of two, 2 to 2^24; 8192 */
    unsigned batch_records; /* 1 to 4096; 256 */
    unsigned ring_cpus;     /* CPUs with rings of their own; all this machine can have */
    const char *commit;     /* as SPEX_COMMIT */
    bool no_calibration;
    const char *control; /* as SPEX_CONTROL */
    const char *budget;  /* as SPEX_BUDGET */
    const char
        *rate_policy; /* as SPEX_RATE_POLICY; set-user-ID programs load no objects either way */
    const char *thread_budget; /* as SPEX_THREAD_BUDGET */
    const char *functions;     /* as SPEX_FUNCTIONS; of the first start alone */
    const char *models;        /* as SPEX_MODELS */
    double samples;            /* as SPEX_SAMPLES; 10 */
};

struct spex_status {
    size_t size;    /* in: sizeof(struct spex_status) */
    uint32_t sites; /* registered */
    uint32_t sites_on;
    uint32_t
        sites_refused;   /* they stay off: no room for them, or more values than this library has */
    uint32_t collectors; /* running */
    uint64_t produced;   /* records made by probes; produced = consumed + lost + pending, exactly */
    uint64_t consumed;   /*   so while nothing records */
    uint64_t lost;       /* overwritten in a ring before they were read */
    uint64_t pending;    /* in a ring */
    uint64_t undelivered;  /* consumed, but the output could not take them */
    uint64_t unrecorded;   /* sampled executions that had no room for their thread's state */
    uint64_t ring_bytes;   /* memory reserved for rings; touched only where used */
    uint64_t thread_bytes; /* and for the states of threads; likewise */
};

/* Reads the environment and the options (NULL: all defaults). With a selection it maps the rings,
 * starts the collector and switches the selected sites on; without one it does nothing else, and
 * spex_set can do so later. Not for signal handlers.
 * 0, also for the first time in a child that SPEX_FORKS=follow has started, where nothing changes by it;
 * -EALREADY when started; -EINVAL for a bad option or variable; -ENOMEM; or what opening the
 * output or starting a thread failed with. After an error spex is stopped and the program may go
 * on. */
SPEX_API int spex_start(const struct spex_options *options);

/* Replaces the selection, or adds to it ("+…"): sites it does not match are switched off. Sites of
 * libraries loaded later obey it too; of items that match nothing yet one line is written. Any thread,
 * not signal handlers.
 * The number of sites that are on; -EINVAL for bad syntax; -E2BIG for more than 64 KiB or 1024 items,
 * those there are included; -EPERM before spex_start; or as spex_start. After an error the selection
 * is as it was. */
SPEX_API int spex_set(const char *probes);

/* Switches every site off, collects what is left in the rings, finishes the output, ends the
 * collector. Called at exit if the program has not done so. 0, also when not started. */
SPEX_API int spex_stop(void);

/* Fills in *status. 0, or -EINVAL when its size is not one this library knows. Any thread. */
SPEX_API int spex_status_get(struct spex_status *status);

/* What an execution of a probe costs here, in ticks of the time stamp counter. */
struct spex_cost {
    double test;   /* switched off */
    double skip;   /* counted, not recorded */
    double record; /* recorded, BEGIN and END together */
};

/* As measured when the first probe of that type was switched on. 0; -EINVAL for no probe type;
 * -ENODATA when it has not been measured. Any thread. */
SPEX_API int spex_cost_get(uint32_t probe_type, struct spex_cost *cost);

/* One line about how a type's values are read: what the processor's last-level cache events are, or why
 * a counter is not available here. `pcid` is that of PERFCNTR, 0 for others. 0, or -EINVAL. Any thread,
 * not signal handlers. */
SPEX_API int spex_describe(uint32_t probe_type, unsigned pcid, char *text, size_t size);

SPEX_EXTERN_C_END

#endif
