/* SPDX-License-Identifier: MIT */
/* The end of a library that contains all of spex, and is unloaded before the process ends. While
 * its code is there its memory stays mapped, because a thread may be on its way through a probe.
 * A process that ends calls the same destructors with other threads still running: then it stays,
 * too. */
#include <semaphore.h>
#include <stdlib.h>

#include "base/memory/heap.h"
#include "base/memory/memory.h"
#include "counters/counters.h"
#include "probe/open_spans.h"
#include "probe/threads.h"
#include "ring/rings.h"
#include "serve/control.h"
#include "site/provider.h"
#include "site/registry.h"
#include "start/life_state.h"
#include "text/at_start.h"

/* As the C++ ABI has it: exit() calls the function with the argument. */
extern int __cxa_atexit(void (*function)(void *), void *argument, void *library);

/* Posted by exit() before it calls destructors; NULL: it is not known whether it does. On the heap,
 * and by a function of the C library, since both are there after this library. */
static sem_t *exit_begun SPEX_AT_START;

void spex_unload_expect(void) {
    if (exit_begun || spex_is_of_program(&spex_life))
        return;
    sem_t *made = spex_malloc(sizeof(*made));
    void (*post)(void *) = (void (*)(void *))(void (*)(void))sem_post;
    if (!made || sem_init(made, 0, 0) != 0 || __cxa_atexit(post, made, made) != 0) {
        spex_free(made);
        return;
    }
    exit_begun = made;
}

/* Threads of spex have ended, and the program calls no more of the library. */
void spex_unload(void) {
    int posted = 1;
    if (!exit_begun || sem_getvalue(exit_begun, &posted) != 0 || posted)
        return;
    spex_threads_unmap();
    if (spex_open_spans.buckets)
        spex_open_spans_unmap(&spex_open_spans);
    spex_rings_end();
    spex_counters_end();
    spex_control_unmap();
    spex_sites_end();
    spex_heap_unmap();
}
