/* SPDX-License-Identifier: MIT */
/* What happens around a fork, and in its child.
 *
 * The locks are held across the fork, so that the child finds every structure whole. The child has
 * the forking thread alone: it frees all locks before anything else, resets each room that had a
 * thread or a file of its parent's, and then collects nothing until it starts spex itself, or at
 * once with SPEX_FORKS=follow. Handlers run on the thread that forks, in the program's time. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include <spex/atomic.h>

#include "base/deadline.h"
#include "base/lock.h"
#include "base/memory/heap.h"
#include "base/process.h"
#include "base/service_thread.h"
#include "base/uninterrupted.h"
#include "collect/collector.h"
#include "collect/dump_request.h"
#include "collect/metrics.h"
#include "collect/sinks.h"
#include "collect/stream.h"
#include "counters/counters.h"
#include "kernels/kernel_sampler.h"
#include "probe/open_spans.h"
#include "probe/threads.h"
#include "rate/controller.h"
#include "ring/doorbell.h"
#include "ring/rings.h"
#include "site/registry.h"
#include "site/selection.h"
#include "start/dormant.h"
#include "start/life_state.h"
#include "text/at_start.h"

/* Longest time that a fork waits for spex's threads to be between passes: a sink that blocks must
 * not block the program. */
#define FORK_WAIT_NS 20000000

/* What is held across a fork, in the order in which the other code takes it: start and stop,
 * control, sinks, sites, counters, the heap. The end of a sink waits for the metrics, which the table and the
 * control thread read together with sites; the table also reads counters, so that their lock comes
 * behind; whoever has one of these may allocate. */
static struct spex_lock *life_lock(void) {
    return &spex_life.lock;
}

static struct spex_lock *(*const locks[])(void) = {
    life_lock,       spex_control_lock,  spex_sinks_lock,
    spex_sites_lock, spex_counters_lock, spex_heap_lock,
};
enum { LOCKS = sizeof(locks) / sizeof(locks[0]) };

/* Of the thread that forks. Its state is in thread-local memory, as a thread that forks without the
 * locks is not alone. `within`: it is between the handlers; `prepared`: it has the locks; `nested`:
 * forks in it that the program's own handlers make. */
static _Thread_local struct {
    struct spex_uninterrupted before;
    bool within;
    bool prepared;
    unsigned nested;
} around_fork;

/* Threads between the handlers. */
static unsigned forks_within;

#ifdef __GLIBC__
/* pthread_atfork, and what removes such handlers: `library` is what they belong to. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                             void *library);
extern void __cxa_finalize(void *library);
#else
/* Other C libraries unload nothing. */
#define __register_atfork(prepare, parent, child, library) pthread_atfork(prepare, parent, child)
#define __cxa_finalize(library)                            (void)(library)
#endif

/* The handlers are installed, in the name of this object. */
static bool handled SPEX_AT_START;

/* The library is about to be unloaded. */
static bool unloading;

/* Takes the locks. A function of the program that spex calls may fork where they are taken: the
 * thread has them, or their owner waits for this thread. False: the child will find what it cannot
 * use. */
static bool locks_take(void) {
    if (spex_lock_is_mine(life_lock()) || spex_process_is_unknown())
        return false;
    if (!spex_service_thread_is_this())
        spex_lock_take(life_lock());
    else if (!spex_lock_take_soon(life_lock()))
        return false;
    struct spex_patience patience = spex_patience_for(FORK_WAIT_NS);
    spex_service_threads_await(&patience);
    /* Before any lock that a pass may take. */
    spex_collectors_fork_prepare(&patience);
    for (unsigned l = 1; l < LOCKS; l++)
        spex_lock_take(locks[l]());
    return true;
}

/* Sequentially consistent: either a fork finds that the library is unloaded, or who unloads it
 * finds the fork. False: the fork goes on without this library. */
static bool fork_enter(void) {
    __atomic_fetch_add(&forks_within, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&unloading, __ATOMIC_SEQ_CST))
        return true;
    spex_fetch_add_release(&forks_within, -1); /* T1 (T2): it was never there */
    return false;
}

static void fork_prepare(void) {
    if (around_fork.within) {
        around_fork.nested++;
        return;
    }
    around_fork.within = spex_process_is_kept() && fork_enter();
    around_fork.prepared = false;
    if (!around_fork.within)
        return;
    spex_uninterrupted_begin(&around_fork.before);
    around_fork.prepared = locks_take();
    errno = 0;
}

static void note_unfollowed(void) {
    if (!spex_life.settings.follow && !spex_streams_of_children() && spex_metrics_there())
        spex_metrics_fork_unfollowed();
}

/* Gives the locks back in the reverse order. Handlers are called after a fork that has failed, too,
 * and are not told of it but by errno. */
static void fork_parent(void) {
    if (around_fork.nested) {
        around_fork.nested--;
        return;
    }
    if (!around_fork.within)
        return;
    if (!errno && around_fork.prepared)
        note_unfollowed();
    for (unsigned l = LOCKS - 1; around_fork.prepared && l > 0; l--)
        spex_lock_give(locks[l]());
    if (around_fork.prepared) {
        spex_collectors_fork_parent();
        spex_lock_give(life_lock());
    }
    around_fork.within = false;
    spex_uninterrupted_end(&around_fork.before);
    spex_fetch_add_release(&forks_within, -1); /* T1 (T2): the last that it does here */
}

/* The child has one thread: nobody has a lock. */
static void locks_reset(void) {
    for (unsigned l = 0; l < LOCKS; l++)
        spex_lock_reset(locks[l]());
}

/* With SPEX_FORKS=follow the child collects as its parent does. After an error, of which a message
 * tells, the child goes on without spex. Owns `selection`: the registry takes it, or it is
 * freed. */
static void child_follow(struct spex_selection selection, bool table) {
    spex_life.out_given_up = false;
    spex_life_control_start();
    if (selection.count > 0 && !spex_life.out_given_up && spex_collection_start(table) == 0) {
        spex_streams_follow(spex_life.settings.collectors);
        spex_sites_select(selection);
        spex_control_tell();
        spex_doorbell_ring();
    } else {
        spex_selection_free(&selection);
    }
}

/* Resets the child: its probes are off, and it has no collector and no output until it calls
 * spex_start or follows its parent. */
static void child_reset(void) {
    /* Read before the state of the parent is forgotten. */
    bool follows = spex_life.started && spex_life.settings.follow, table = spex_life.output != NULL;
    bool started = spex_life.started;
    struct spex_selection selection;
    spex_dormant_end();
    spex_counter_fallbacks_forget();
    spex_sinks_fork_child();
    follows |= started && spex_streams_followed();
    spex_dump_request_forget();
    spex_metrics_fork_child();
    spex_controller_end();
    spex_sites_fork_child();
    spex_sites_inherit(&selection);
    spex_control_fork_child();
    spex_collectors_fork_child();
    spex_kernel_sampler_fork_child();
    spex_service_threads_fork_child();
    spex_threads_fork_child();
    spex_open_spans_clear(&spex_open_spans);
    spex_rings_fork_child();
    spex_end_table_abandon(spex_life.output); /* which the parent has */
    spex_life.output = NULL;
    spex_life.started = spex_life.followed = follows;
    if (follows) {
        child_follow(selection, table);
    } else {
        /* The rate policy's object stays: another thread may have been in the loader, which is
         * not made anew. */
        spex_life_settings_free();
        spex_selection_free(&selection);
    }
    spex_streams_forget();
}

/* A child that found its parent's state half changed stays without spex: its probes go off. */
static void child_give_up(void) {
    spex_heap_abandon();
    spex_dormant_end();
    spex_service_threads_fork_child();
    spex_sites_fork_child();
    spex_life.started = spex_life.followed = false;
    spex_life.lost = true;
}

/* The child of a fork that spex knows nothing of, since it was not started then, has no locks
 * taken. */
static void fork_child(void) {
    bool prepared = around_fork.prepared && !spex_life.lost;
    if (!around_fork.within && !spex_process_is_kept())
        return;
    locks_reset();
    spex_lock_take(life_lock());
    spex_process_fork_child();
    if (prepared)
        child_reset();
    else
        child_give_up();
    spex_lock_give(life_lock());
    forks_within = around_fork.nested > 0;
    if (around_fork.nested) {
        around_fork.nested--;
        around_fork.prepared = locks_take(); /* the fork around it goes on */
        return;
    }
    if (around_fork.within)
        spex_uninterrupted_end(&around_fork.before);
    around_fork.within = false;
}

/* A thread that forks may wait for the lock which a stop has: it goes on in this library's code.
 * The C library, from 2.36 on, removes handlers without waiting for those that run. A fork without
 * handlers has none of the other threads. Once the handlers are removed none begins; what has just
 * begun does nothing but return, within the time of grace. */
void spex_forks_refuse(void) {
    __atomic_store_n(&unloading, true, __ATOMIC_SEQ_CST);
}

void spex_forks_await(void) {
    const struct timespec look_again = {.tv_nsec = 50000}, grace = {.tv_nsec = 20000000};
    while (spex_load_acquire(&forks_within) > around_fork.within && /* T2 (T1) */
           !spex_process_is_unknown())
        nanosleep(&look_again, NULL);
    if (!handled)
        return;
    __cxa_finalize(&handled);
    nanosleep(&grace, NULL);
}

/* Handlers stay until the library is unloaded, and test themselves whether spex has been started. The
 * earlier they come, the fewer of the program's run while the locks are held: one may wait for
 * threads that load libraries with probes, or call spex. */
int spex_fork_handle(void) {
    int err = handled ? 0 : -__register_atfork(fork_prepare, fork_parent, fork_child, &handled);
    handled |= !err;
    return err;
}

/* Tried again by the start. */
__attribute__((constructor(101))) static void handle_early(void) {
    (void)spex_fork_handle();
}
