/* SPDX-License-Identifier: MIT */
/* Gives each thread its state. Free states are a lock-free stack (Treiber); when there is none, the
 * thread takes a new one, at thread_pool.used. A state is given back by the destructor of a
 * thread-specific key. States are never unmapped: a thread may be on its way through a probe at any
 * time.
 *
 * Threads: states are taken by the program's threads and their signal handlers, so nothing on that
 * way locks or allocates, and there is no system call, which a sandbox could forbid. The library's
 * own threads map states ahead, and what a thread needs beside its own. */
#define _GNU_SOURCE
#include "probe/threads.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <spex/atomic.h>

#include "base/last_thread.h"
#include "base/lock.h"
#include "ring/doorbell.h"
#include "ring/reserve.h"
#include "ring/rings.h"
#include "text/at_start.h"

/* States for so many threads are there before one needs them. */
enum { READY = 64 };

/* Bytes of a block of countdowns. */
enum { BLOCK_BYTES = SPEX_SITE_BLOCK * sizeof(struct spex_countdown) };

static struct {
    /* By index. The states below `made` are there, and the samplings below `sampled`. */
    struct spex_thread *states[SPEX_MAX_THREADS];
    struct spex_samples *samples[SPEX_MAX_THREADS];
    uint32_t made, sampled;
    /* Blocks of countdowns that each state has, and how many of them each has had from the first: they
     * lie behind it. */
    uint32_t blocks;
    uint16_t blocks_behind[SPEX_MAX_THREADS];
    /* Kernels are sampled by models. */
    bool samples_wanted;
    /* A thread waits for what probes within probes cost. */
    bool nestings_wanted;
    /* Held while states and blocks are made. */
    struct spex_lock lock;
    /* spex_threads_init has succeeded. */
    bool ready;
    /* Lower half: index + 1 of the first free state. Upper half: a count of changes, so that a
     * stale head never matches (ABA). */
    uint64_t free_head;
    /* The states below this index have been handed out at least once. */
    uint32_t used;
    /* Records that were not made. */
    uint64_t unrecorded;
    /* By site: executions by threads without a state. */
    uint64_t stateless[SPEX_MAX_SITES + 1];
    /* Seed of the random generators of threads to come; 0 before one is set. */
    uint64_t seed;
} thread_pool = {.lock = SPEX_LOCK_FREE};

/* The key whose destructor gives a thread's state back, or the error of making the key. */
static struct {
    pthread_key_t at_exit;
    int error;
} thread_key SPEX_AT_START;

/* A thread that ended so often gets no state again. The C library calls destructors in at most
 * PTHREAD_DESTRUCTOR_ITERATIONS rounds; a state taken in the last one would never be given back. */
enum { ENDS_MAX = PTHREAD_DESTRUCTOR_ITERATIONS - 2 };

uint32_t spex_none_executed[SPEX_MAX_SITES + 1];
__thread uint32_t *spex_executed = spex_none_executed;

/* How often this thread's destructor has run. */
static __thread unsigned thread_ends;

/* Called at a thread's end; NULL: nothing. */
static void (*thread_end_hook)(void);

#define HEAD_INDEX(head)       ((uint32_t)(head))
#define HEAD_NEXT(head, index) ((((head) >> 32) + 1) << 32 | (index))

/* Pushes the state onto the stack of free ones. T1 publishes what the thread has left in it. */
static void state_release(struct spex_thread *thread) {
    uint64_t head = spex_load_relaxed(&thread_pool.free_head);
    do {
        spex_store_relaxed(&thread->next_free, HEAD_INDEX(head));
    } while (!spex_cas_acq_rel(&thread_pool.free_head, &head,
                               HEAD_NEXT(head, thread->index + 1))); /* T1 (T2) */
}

/* Ends the use of a state: of a thread that ends, or that has another one. */
static void state_leave(struct spex_thread *thread) {
    spex_rings_thread_end(thread->number);
    spex_store_relaxed(&thread->thread_id, 0);
    state_release(thread);
}

/* How many states are made for so many threads. With less than half of that more are made: threads
 * begin by the hundred while a collector comes to its turn. */
static uint32_t states_wanted(uint32_t threads) {
    return 4 * threads + READY;
}

static bool states_are_few(uint32_t threads) {
    uint32_t made = spex_load_relaxed(&thread_pool.made);
    return made < SPEX_MAX_THREADS && made < states_wanted(threads) / 2;
}

/* Whole pages, so that the memory of each can be given back. */
static size_t bytes_apart(size_t bytes) {
    enum { PAGE = 4096 };
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* Bytes of a state's mapping, with the countdowns behind it. */
static size_t state_bytes(uint32_t blocks) {
    return bytes_apart(sizeof(struct spex_thread)) + (size_t)blocks * BLOCK_BYTES;
}

/* Gives a state blocks of countdowns, which lie one behind the other, behind `first` ones. */
static void blocks_give(struct spex_thread *thread, uint32_t first, uint32_t count, char *memory) {
    struct spex_countdown *block = (struct spex_countdown *)(void *)memory;
    for (uint32_t b = 0; b < count; b++)
        spex_store_release(&thread->countdowns[first + b],
                           block + b * SPEX_SITE_BLOCK); /* T16 (T15 in threads.h): zeros */
}

/* Pops a free state, or takes one that was never used. Returns NULL when there is none. Relaxed: a
 * state that has been in the stack is there (T2), and so are those below `made` (T4). */
static struct spex_thread *state_take(void) {
    uint64_t head =
        spex_load_acquire(&thread_pool.free_head); /* T2 (T1): next_free and what it held */
    while (HEAD_INDEX(head)) {
        struct spex_thread *thread = spex_load_relaxed(&thread_pool.states[HEAD_INDEX(head) - 1]);
        uint32_t next = spex_load_relaxed(&thread->next_free);
        if (spex_cas_acq_rel(&thread_pool.free_head, &head, HEAD_NEXT(head, next))) /* T2 (T1) */
            return thread;
    }
    uint32_t made = spex_load_acquire(&thread_pool.made); /* T4 (T3): the states below it */
    uint32_t fresh = spex_load_relaxed(&thread_pool.used);
    while (fresh < made) {
        if (!spex_cas_release(&thread_pool.used, &fresh, fresh + 1)) /* T5 (T6): it is there */
            continue;
        struct spex_thread *thread = spex_load_relaxed(&thread_pool.states[fresh]);
        thread->index = fresh;
        /* Until now its memory has been untouched. */
        blocks_give(thread, 0, thread_pool.blocks_behind[fresh], (char *)thread + state_bytes(0));
        if (states_are_few(fresh + 1))
            spex_doorbell_alarm();
        return thread;
    }
    return NULL;
}

/* Reserves memory for *count elements, or for as many of them as the system lets have in one
 * piece. */
static char *elements_reserve(uint32_t *count, size_t bytes) {
    bool locked = spex_mappings_are_locked();
    char *memory = NULL;
    while (*count && !(memory = spex_memory_reserve(*count * bytes_apart(bytes), locked)))
        *count /= 2;
    return memory;
}

/* Gives `states` states, from the first one on, `count` blocks of countdowns behind `first` ones.
 * False: there is no memory. */
static bool blocks_make(struct spex_thread *const *state, uint32_t states, uint32_t first,
                        uint32_t count) {
    if (!states || !count)
        return true;
    char *memory =
        spex_memory_reserve((size_t)states * count * BLOCK_BYTES, spex_mappings_are_locked());
    for (uint32_t s = 0; memory && s < states; s++)
        blocks_give(state[s], first, count, memory + (size_t)s * count * BLOCK_BYTES);
    return memory;
}

/* Makes countdowns for the sites that there are. False: there is no memory. */
static bool blocks_provide(void) {
    uint32_t wanted = (spex_sites_count() + SPEX_SITE_BLOCK - 1) / SPEX_SITE_BLOCK;
    if (wanted > thread_pool.blocks && blocks_make(thread_pool.states, thread_pool.made,
                                                   thread_pool.blocks, wanted - thread_pool.blocks))
        thread_pool.blocks = wanted;
    return thread_pool.blocks >= wanted;
}

/* Makes the states up to `until`. */
static void states_make(uint32_t until) {
    uint32_t first = thread_pool.made, count = until - first;
    const size_t apart = state_bytes(thread_pool.blocks);
    char *memory = elements_reserve(&count, apart);
    for (uint32_t i = 0; i < count; i++) {
        thread_pool.blocks_behind[first + i] = (uint16_t)thread_pool.blocks;
        spex_store_relaxed(&thread_pool.states[first + i],
                           (struct spex_thread *)(void *)(memory + i * apart));
    }
    spex_store_release(&thread_pool.made, first + count); /* T3 (T4): states */
}

/* The same for the sampling of kernels. */
static void samples_make(uint32_t until) {
    uint32_t first = thread_pool.sampled, count = until - first;
    const size_t apart = bytes_apart(sizeof(struct spex_samples));
    char *memory = elements_reserve(&count, sizeof(struct spex_samples));
    for (uint32_t i = 0; i < count; i++)
        spex_store_release(
            &thread_pool.samples[first + i],
            (struct spex_samples *)(void *)(memory + i * apart)); /* T13 (T14): zeros */
    thread_pool.sampled = first + count;
}

static void nestings_make(void) {
    if (!spex_load_relaxed(&thread_pool.nestings_wanted))
        return;
    spex_store_relaxed(&thread_pool.nestings_wanted, false);
    for (uint32_t t = 0; t < spex_threads_used(); t++)
        if (spex_load_relaxed(&thread_pool.states[t]->nesting_wanted))
            spex_thread_nesting_make(thread_pool.states[t]);
}

bool spex_threads_provide(void) {
    spex_lock_take(&thread_pool.lock);
    uint32_t used = spex_threads_used(), alive = spex_process_threads();
    uint32_t threads = used > alive ? used : alive;
    uint32_t wanted = states_wanted(threads);
    bool enough = blocks_provide();
    if (states_are_few(threads))
        states_make(wanted < SPEX_MAX_THREADS ? wanted : SPEX_MAX_THREADS);
    if (spex_load_relaxed(&thread_pool.samples_wanted) && thread_pool.sampled < thread_pool.made)
        samples_make(thread_pool.made);
    nestings_make();
    spex_lock_give(&thread_pool.lock);
    return enough;
}

bool spex_thread_calibrates(struct spex_thread *thread) {
    struct spex_countdown **block = &thread->countdowns[SPEX_SITE_BLOCKS - 1];
    void *made = *block;
    if (!made)
        made = spex_memory_reserve(BLOCK_BYTES, spex_mappings_are_locked());
    spex_store_release(block, (struct spex_countdown *)made); /* T16 (T15 in threads.h) */
    return made;
}

void spex_threads_provide_more(void) {
    if (states_are_few(spex_threads_used()) || spex_load_relaxed(&thread_pool.nestings_wanted))
        spex_threads_provide();
}

/* Deletes the key, because a thread that ends after this code was unloaded must not call its
 * destructor. */
void spex_threads_exit(void) {
    if (!thread_key.error)
        pthread_key_delete(thread_key.at_exit);
}

/* Clears the executions that the thread has left without an END, which would count as going on for
 * ever. */
static void state_clear_activity(struct spex_thread *thread) {
    uint32_t sites = thread->polled ? spex_sites_count() : 0;
    for (uint32_t site = 0; site < sites; site++) {
        const struct spex_countdown *countdown = spex_countdown_seen(thread, site);
        if (countdown && spex_load_relaxed(&countdown->active))
            spex_store_relaxed(&spex_countdown_of(thread, site)->active, 0);
    }
    thread->polled = false;
    if (thread->samples)
        spex_store_relaxed(&thread->samples->depth, 0);
}

/* Relaxed: a thread that needs the hook has called this function itself. */
void spex_threads_end_hook(void (*hook)(void)) {
    spex_store_relaxed(&thread_end_hook, hook);
}

/* The value of the key of a first thread that has no state yet: its end is to be told. */
static char first_thread;

static bool is_first_thread(void) {
    return gettid() == getpid();
}

/* Nobody else could: a library may be loaded by another thread, and a child begins with the one that forked. */
static void first_thread_note(void) {
    if (thread_key.error || !is_first_thread())
        return;
    if (pthread_getspecific(thread_key.at_exit) ||
        pthread_setspecific(thread_key.at_exit, &first_thread) == 0)
        spex_last_thread_is_told();
}

/* Gives the state of a thread back. The thread's other destructors may still make records: it then
 * gets a state again, which the next round of destructors gives back (ENDS_MAX). */
static void state_end(struct spex_thread *thread) {
    thread_ends++;
    spex_executed = spex_none_executed;
    spex_counters_close(&thread->counters);
    state_clear_activity(thread);
    void (*hook)(void) = spex_load_relaxed(&thread_end_hook);
    if (hook)
        hook();
    state_leave(thread);
}

static void thread_end(void *state) {
    if (state != &first_thread)
        state_end(state);
    if (is_first_thread())
        spex_last_thread_leaves();
    else
        spex_last_thread_another_leaves();
}

/* Makes the key at load time, so that its number is low. The C library has memory for the first few
 * keys in every thread, and allocates for the others, which a probe must not. Before the program's
 * own constructors, of which one may start spex. */
__attribute__((constructor(SPEX_CONSTRUCTOR_FIRST))) static void key_create(void) {
    thread_key.error = pthread_key_create(&thread_key.at_exit, thread_end);
    first_thread_note();
}

/* The kernel's id of this thread, by its CPU clock, whose number libc knows without a system call
 * (executions.c has the numbering). */
static uint32_t thread_id_here(void) {
    clockid_t clock;
    return pthread_getcpuclockid(pthread_self(), &clock) == 0 ? ~(uint32_t)clock >> 3
                                                              : (uint32_t)gettid();
}

/* Calls what attaching calls: where the dynamic linker looks for a function at its first call, that
 * takes 3 KB of stack. */
static void functions_bind(void) {
    (void)thread_id_here();
    (void)pthread_setspecific(thread_key.at_exit, pthread_getspecific(thread_key.at_exit));
}

int spex_threads_init(void) {
    spex_threads_provide();
    if (thread_pool.ready)
        return 0;
    if (thread_key.error)
        return -thread_key.error;
    functions_bind();
    first_thread_note();
    spex_counters_init();
    if (!thread_pool.seed)
        thread_pool.seed = spex_ticks() ^ (uint64_t)getpid() << 32 ^ (uintptr_t)&thread_pool;
    thread_pool.ready = true;
    return 0;
}

/* Returns the bytes of a nesting with so many sites. */
static size_t nesting_bytes(uint32_t sites) {
    return sizeof(struct spex_nesting) + sites * sizeof(struct spex_nesting_site);
}

size_t spex_threads_bytes(void) {
    size_t bytes = 0;
    for (uint32_t t = 0; t < spex_threads_used(); t++) {
        const struct spex_thread *thread = spex_threads_state(t);
        const struct spex_nesting *nesting = spex_thread_nesting(thread);
        bytes += sizeof(*thread) + (spex_thread_samples(thread) ? sizeof(*thread->samples) : 0) +
                 (nesting ? nesting_bytes(nesting->capacity) : 0);
    }
    return bytes;
}

/* Touches the pages that the first registered sites use, so that probes cause no page faults. Adding
 * 0 leaves the content as it is. Of many sites a thread mostly executes few. Sites that have come
 * since a site went on last have no countdowns yet. */
static void state_touch(struct spex_thread *thread) {
    enum { PAGE = 4096, MOST = 4096 };
    uint32_t count = spex_sites_count(), sites = count < MOST ? count : MOST;
    for (uint32_t site = 0; site < sites; site += PAGE / sizeof(thread->executed[0]))
        spex_fetch_add_relaxed(&thread->executed[site], 0);
    for (uint32_t site = 0; site < sites && spex_countdown_seen(thread, site);
         site += PAGE / sizeof(struct spex_countdown))
        spex_fetch_add_relaxed(&spex_countdown_of(thread, site)->total, 0);
}

void spex_threads_seed(uint64_t seed) {
    thread_pool.seed = seed;
}

/* Seeds the random generator of a new state. Later threads with the state continue its sequence. */
static void state_seed(struct spex_thread *thread) {
    if (!(thread->random.state[0] | thread->random.state[1]))
        spex_random_seed(&thread->random, thread_pool.seed, thread->index);
}

void spex_threads_note_unrecorded(uint64_t records) {
    spex_fetch_add_relaxed(&thread_pool.unrecorded, records);
}

void spex_threads_count_stateless(uint32_t site, uint32_t executions) {
    spex_fetch_add_relaxed(&thread_pool.stateless[site], executions);
    spex_threads_note_unrecorded(1);
}

uint64_t spex_threads_stateless(uint32_t site) {
    return spex_load_relaxed(&thread_pool.stateless[site]);
}

/* A function of its own, so that the usual way through spex_thread_attach saves no registers. */
__attribute__((noinline)) static struct spex_thread *state_attach(void) {
    uint64_t begin = spex_ticks();
    struct spex_thread *thread = thread_ends < ENDS_MAX ? state_take() : NULL;
    if (!thread)
        return NULL;
    spex_store_relaxed(&thread->thread_id, thread_id_here());
    spex_store_relaxed(&thread->number, spex_rings_thread_begin(thread->thread_id));
    state_touch(thread);
    state_seed(thread);
    uint32_t *none = spex_none_executed;
    /* Relaxed: only this thread's signal handlers compete. One may have attached the thread just
     * now; then its state is used. */
    if (!spex_cas_relaxed(&spex_executed, &none, thread->executed)) {
        state_leave(thread);
        return spex_thread_of(none);
    }
    if (pthread_setspecific(thread_key.at_exit, thread) != 0) {
        spex_executed = spex_none_executed;
        state_leave(thread);
        return NULL;
    }
    spex_thread_opened(thread, begin);
    return thread;
}

struct spex_thread *spex_thread_attach(void) {
    struct spex_thread *thread = spex_thread_current();
    return thread ? thread : state_attach();
}

struct spex_samples *spex_thread_samples_assign(struct spex_thread *thread) {
    struct spex_samples *samples =
        spex_load_acquire(&thread_pool.samples[thread->index]); /* T14 (T13) */
    spex_store_release(&thread->samples, samples);              /* T8 (T7 in threads.h) */
    return samples;
}

void spex_threads_provide_samples(void) {
    spex_store_relaxed(&thread_pool.samples_wanted, true);
    spex_threads_provide();
}

void spex_thread_nesting_want(struct spex_thread *thread) {
    spex_store_relaxed(&thread->nesting_wanted, true);
    spex_store_relaxed(&thread_pool.nestings_wanted, true);
}

/* There are elements for the sites that there are now, and for more up to the end of the last
 * page. */
SPEX_COLD struct spex_nesting *spex_thread_nesting_make(struct spex_thread *thread) {
    size_t bytes = bytes_apart(nesting_bytes(spex_sites_count()));
    if (thread->nesting)
        return thread->nesting;
    struct spex_nesting *made =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    made->capacity = (uint32_t)((bytes - sizeof(*made)) / sizeof(made->sites[0]));
    spex_store_release(&thread->nesting, made); /* T10 (T9 in threads.h, T9 in nesting.c) */
    return made;
}

/* Relaxed: the caller's index is below spex_threads_used(), which has synchronised (T6). */
const struct spex_thread *spex_threads_state(uint32_t index) {
    return spex_load_relaxed(&thread_pool.states[index]);
}

uint32_t spex_threads_used(void) {
    return spex_load_acquire(&thread_pool.used); /* T6 (T5): the states below it */
}

uint64_t spex_threads_unrecorded(void) {
    return spex_load_relaxed(&thread_pool.unrecorded);
}

/* Makes memory zero, and gives its pages back to the system. In a program with mlockall the first
 * advice is refused, and the second one, new in Linux 5.18, may be. */
static void pages_clear(void *memory, size_t bytes) {
#ifndef MADV_DONTNEED_LOCKED
    enum { MADV_DONTNEED_LOCKED = 24 };
#endif
    if (madvise(memory, bytes, MADV_DONTNEED) != 0 &&
        madvise(memory, bytes, MADV_DONTNEED_LOCKED) != 0)
        memset(memory, 0, bytes);
}

static void nesting_clear(struct spex_nesting *nesting) {
    uint32_t capacity = nesting->capacity;
    pages_clear(nesting, nesting_bytes(capacity));
    nesting->capacity = capacity;
}

/* Calls the function for the memory of a state's countdowns, in pieces. */
static void blocks_visit(const struct spex_thread *thread,
                         void (*visit)(void *memory, size_t bytes)) {
    for (uint32_t block = 0, end; block < SPEX_SITE_BLOCKS; block = end) {
        struct spex_countdown *first = thread->countdowns[block];
        end = block + 1;
        while (first && end < SPEX_SITE_BLOCKS &&
               thread->countdowns[end] == first + (size_t)(end - block) * SPEX_SITE_BLOCK)
            end++;
        if (first)
            visit(first, (size_t)(end - block) * BLOCK_BYTES);
    }
}

/* Clears a state, except for its place in the pool. */
static void state_clear(struct spex_thread *thread) {
    struct spex_countdown *countdowns[SPEX_SITE_BLOCKS];
    uint32_t index = thread->index;
    struct spex_samples *samples = thread->samples;
    struct spex_nesting *nesting = thread->nesting;
    if (samples)
        pages_clear(samples, sizeof(*samples));
    if (nesting)
        nesting_clear(nesting);
    blocks_visit(thread, pages_clear);
    memcpy(countdowns, thread->countdowns, sizeof(countdowns));
    pages_clear(thread, sizeof(*thread));
    memcpy(thread->countdowns, countdowns, sizeof(countdowns));
    thread->index = index;
    thread->samples = samples;
    thread->nesting = nesting;
}

/* The whole stack of free states is taken at once, so no thread has them while they are cleared. A
 * thread that still reads `next_free` of one of them finds that the head has changed. */
SPEX_COLD void spex_threads_give_back(void) {
    uint64_t head = spex_load_relaxed(&thread_pool.free_head);
    bool taken;
    do
        taken = spex_cas_acq_rel(&thread_pool.free_head, &head, HEAD_NEXT(head, 0)); /* T2 (T1) */
    while (!taken);
    for (uint32_t at = HEAD_INDEX(head), next; at; at = next) {
        struct spex_thread *thread = spex_load_relaxed(&thread_pool.states[at - 1]);
        struct spex_random random = thread->random;
        next = thread->next_free;
        state_clear(thread);
        thread->random = random;
        state_release(thread);
    }
}

/* The memory is private, so the states of the parent stay: the child begins without executions.
 * They remain mapped, because a probe that the forking thread was executing may end in the
 * child. */
SPEX_COLD void spex_threads_fork_child(void) {
    for (uint32_t t = 0; t < thread_pool.used; t++) {
        spex_thread_counters_fork_child(&thread_pool.states[t]->counters);
        state_clear(thread_pool.states[t]);
    }
    spex_counters_revive();
    thread_pool.free_head = 0;
    thread_pool.used = 0;
    spex_lock_reset(&thread_pool.lock); /* a thread of the parent may have had it */
    thread_pool.unrecorded = 0;
    memset(thread_pool.stateless, 0, spex_sites_count() * sizeof(thread_pool.stateless[0]));
    thread_pool.seed ^= spex_ticks() ^ (uint64_t)getpid() << 32;
    spex_executed = spex_none_executed;
    if (thread_pool.ready)
        pthread_setspecific(thread_key.at_exit, NULL);
    first_thread_note();
}

static void piece_unmap(void *memory, size_t bytes) {
    munmap(memory, bytes);
}

static void state_unmap(struct spex_thread *thread, uint32_t behind) {
    spex_counters_close(&thread->counters);
    for (uint32_t b = 0; b < behind; b++)
        if (thread->countdowns[b])
            thread->countdowns[b] = NULL;
    blocks_visit(thread, piece_unmap);
    if (thread->samples)
        munmap(thread->samples, sizeof(*thread->samples));
    if (thread->nesting)
        munmap(thread->nesting, nesting_bytes(thread->nesting->capacity));
    munmap(thread, state_bytes(behind));
}

/* States of threads that have ended since the key was deleted are among them. In the child of a
 * fork so are those of its parent. */
SPEX_COLD void spex_threads_unmap(void) {
    void (*hook)(void) = spex_load_relaxed(&thread_end_hook);
    if (hook)
        hook();
    for (uint32_t t = 0; t < SPEX_MAX_THREADS; t++) {
        if (thread_pool.states[t])
            state_unmap(thread_pool.states[t], thread_pool.blocks_behind[t]);
        thread_pool.states[t] = NULL;
    }
    thread_pool.free_head = 0;
    thread_pool.used = 0;
    spex_executed = spex_none_executed;
}
