/* SPDX-License-Identifier: MIT */
/* What instrumented code calls, and the stack of functions that are on which each thread keeps for
 * it. The frame of a function is found again by the function: who left by longjmp leaves a frame
 * behind, which goes with the next one below it. Signal handlers have theirs on top; so a frame is
 * taken before it is filled in, and given back last. */
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#include <spex/atomic.h>
#include <spex/functions.h>

#include "functions/functions.h"
#include "probe/contexts.h"
#include "probe/threads.h"

enum { FRAMES_MAX = 1000 };

struct frame {
    uintptr_t function;
    uintptr_t stack; /* where it was entered */
    struct spex_site *site;
    struct spex_kernel_span span;
    uint64_t parameters[SPEX_KERNEL_PARAMETERS];
};

struct frames {
    uint32_t depth;
    uint32_t beyond; /* functions that were entered and found no room */
    uint32_t given;  /* bits: parameters that this thread has given outside of any function */
    uint64_t parameters[SPEX_KERNEL_PARAMETERS]; /* and what they are */
    struct frame frames[FRAMES_MAX];
};

/* Since nothing else is made while it is, a handler that comes in between gets none. */
#define BEING_MADE ((struct frames *)1)

static __thread struct frames *own __attribute__((tls_model("initial-exec")));

/* Of the last frame, at hand. Functions that are off, and are left all the time, lie further down
 * the stack than the last that is on; what lies further up has left frames behind by longjmp, or is
 * on another stack. Without a frame nothing does. */
static __thread struct {
    uintptr_t function;
    uintptr_t stack;
} top __attribute__((tls_model("initial-exec"))) = {0, UINTPTR_MAX};

/* What threads have given outside of any function, the last of them. */
static uint64_t parameters_of_all[SPEX_KERNEL_PARAMETERS];

static struct frames *frames_map(void) {
    int before = errno;
    void *memory = mmap(NULL, sizeof(struct frames), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = before;
    return memory == MAP_FAILED ? NULL : memory;
}

static void top_set(const struct frames *frames, uint32_t depth) {
    const struct frame *frame = depth ? &frames->frames[depth - 1] : NULL;
    top.function = frame ? frame->function : 0;
    top.stack = frame ? frame->stack : UINTPTR_MAX;
}

static void frames_free(void) {
    struct frames *frames = own;
    if ((uintptr_t)frames > (uintptr_t)BEING_MADE) {
        own = NULL;
        top_set(NULL, 0);
        munmap(frames, sizeof(*frames));
    }
}

/* NULL: there is no room, or a handler came while the frames were being made. The end of the
 * thread, which has a state then, frees them. */
static struct frames *frames_of_thread(void) {
    struct frames *frames = spex_load_relaxed(&own);
    if (SPEX_LIKELY((uintptr_t)frames > (uintptr_t)BEING_MADE))
        return frames;
    if (frames || !spex_thread_attach())
        return NULL;
    spex_store_relaxed(&own, BEING_MADE);
    spex_threads_end_hook(frames_free);
    frames = frames_map();
    spex_store_relaxed(&own, frames);
    return frames;
}

/* Those of the function around it, which are known to be in force where it begins. */
static void parameters_inherit(const struct frames *frames, struct frame *frame, uint32_t depth) {
    for (unsigned p = 0; p < SPEX_KERNEL_PARAMETERS; p++) {
        if (depth)
            frame->parameters[p] = frames->frames[depth - 1].parameters[p];
        else if (frames->given >> p & 1)
            frame->parameters[p] = frames->parameters[p];
        else
            frame->parameters[p] = spex_load_relaxed(&parameters_of_all[p]);
    }
}

/* Then its parameters are the outer execution's, but its time is not: it is a part of that, and
 * nothing by itself. A node below another has a higher number; so has none where there is no room
 * for its context. */
static bool is_within_itself(const struct spex_site *site, const struct spex_kernel_span *span) {
    struct spex_context_node node;
    return span->context <= span->before && spex_context_node(span->context, &node) &&
           node.kernel == site->probe_id;
}

static void enter(struct spex_site *site, uintptr_t function, uintptr_t stack) {
    struct frames *frames = frames_of_thread();
    if (!frames)
        return;
    uint32_t depth = frames->depth;
    if (depth == FRAMES_MAX) {
        frames->beyond++;
        top.stack = 0; /* all that is left may be one of them */
        return;
    }
    spex_store_relaxed(&frames->depth, depth + 1);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct frame *frame = &frames->frames[depth];
    frame->function = function;
    frame->stack = top.stack = stack;
    top.function = function;
    frame->site = site;
    frame->span = (struct spex_kernel_span){0};
    if (site->detail)
        parameters_inherit(frames, frame, depth);
    spex_kernel_enter_(&frame->span, site->probe_id);
    if (is_within_itself(site, &frame->span))
        return;
    frame->span.weight = spex_sample_(site);
    if (spex_records_(frame->span.weight))
        frame->span.begin = spex_ticks();
    else if (frame->span.weight)
        frame->span.begin = spex_kernel_published(site, frame->span.context, frame->parameters);
}

/* What is above the function's frame has been left without its hook. */
static void leave(uintptr_t function) {
    struct frames *frames = spex_load_relaxed(&own);
    if ((uintptr_t)frames <= (uintptr_t)BEING_MADE)
        return;
    uint32_t depth = frames->depth;
    if (frames->beyond) {
        if (--frames->beyond == 0)
            top_set(frames, depth);
        return;
    }
    while (depth > 0 && frames->frames[depth - 1].function != function)
        depth--;
    if (!depth)
        return;
    for (uint32_t at = frames->depth; at > depth; at--)
        spex_kernel_out_(&frames->frames[at - 1].span);
    struct frame *frame = &frames->frames[depth - 1];
    spex_kernel_end_(frame->site, &frame->span, frame->parameters);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    spex_store_relaxed(&frames->depth, depth - 1);
    top_set(frames, depth - 1);
}

/* A compiler that knows both ends must not copy this into its callers, nor make a version for some
 * of them: functions are known by the calls (function_calls.c). */
#define HOOK __attribute__((noinline, used))

HOOK void __cyg_profile_func_enter(void *function, void *caller) {
    const struct spex_function_table *table =
        spex_load_acquire(&spex_function_table); /* F1 (F2 in functions.c) */
    (void)caller;
    if (SPEX_LIKELY(!table))
        return;
    struct spex_site *site = spex_function_site(table, (uintptr_t)function);
    if (site && SPEX_UNLIKELY(spex_load_relaxed(&site->control)))
        enter(site, (uintptr_t)function, (uintptr_t)__builtin_frame_address(0));
}

HOOK void __cyg_profile_func_exit(void *function, void *caller) {
    const struct spex_function_table *table =
        spex_load_acquire(&spex_function_table); /* F1 (F2 in functions.c) */
    (void)caller;
    if (SPEX_LIKELY(!table))
        return;
    bool is_top = top.function == (uintptr_t)function;
    if (SPEX_UNLIKELY(is_top || (uintptr_t)__builtin_frame_address(0) > top.stack) &&
        spex_function_site(table, (uintptr_t)function))
        leave((uintptr_t)function);
}

void spex_parameter_set(uint32_t slot, uint64_t value) {
    struct frames *frames = frames_of_thread();
    if (!slot || slot > SPEX_KERNEL_PARAMETERS || !frames)
        return;
    uint32_t depth = frames->depth;
    if (depth) {
        frames->frames[depth - 1].parameters[slot - 1] = value;
        return;
    }
    frames->parameters[slot - 1] = value;
    frames->given |= 1u << (slot - 1);
    spex_store_relaxed(&parameters_of_all[slot - 1], value);
}

int spex_functions_make(const char *filter) {
    return spex_function_kernels_make(filter, (uintptr_t)&__cyg_profile_func_enter);
}
