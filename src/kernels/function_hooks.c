/* SPDX-License-Identifier: MIT */
/* The hooks that instrumented code calls (-finstrument-functions), and each thread's stack of
 * functions that are on.
 *
 * The exit hook finds the frame by the function. A function that is left by longjmp leaves its
 * frame behind; the exit of a function below it removes the frame. A signal handler may interrupt
 * the hooks anywhere and pushes frames on top. Therefore a frame is pushed before it is filled in,
 * and popped after its last use. A thread alone uses its frames: no locks. */
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#include <spex/atomic.h>
#include <spex/functions.h>

#include "kernels/functions.h"
#include "probe/contexts.h"
#include "probe/threads.h"

/* Functions that are on at one time in a thread; calls that are nested deeper make no records. */
enum { FRAMES_MAX = 1000 };

__attribute__((
    used, aligned(4),
    section(SPEX_FUNCTIONS_NOTE))) static const struct spex_functions_note functions_note = {
    .name_bytes = sizeof("spex"), .type = 1, .name = "spex"};

struct frame {
    uintptr_t function;
    /* The hook's frame address at the entry. */
    uintptr_t stack;
    struct spex_site *site;
    struct spex_kernel_span span;
    uint64_t parameters[SPEX_KERNEL_PARAMETERS];
};

struct frames {
    uint32_t depth;
    /* Functions that were entered when all frames were used, and have not been left yet. */
    uint32_t beyond;
    /* Bits: the parameters that this thread has set outside of any function. */
    uint32_t given;
    /* The values of those parameters. */
    uint64_t parameters[SPEX_KERNEL_PARAMETERS];
    struct frame frames[FRAMES_MAX];
};

/* `thread_frames` while the frames are being allocated: a signal handler that comes in between gets
 * no frames. */
#define BEING_MADE ((struct frames *)1)

static __thread struct frames *thread_frames __attribute__((tls_model("initial-exec")));

/* Copy of the innermost frame's function and stack address. With it most exits of functions that
 * are off need one comparison: such a function, called by the innermost one that is on, lies
 * further down the stack. An exit further up the stack means that frames were left behind by
 * longjmp, or that the thread is on another stack. Without a frame `stack` is UINTPTR_MAX, and
 * no exit lies further up. */
static __thread struct {
    uintptr_t function;
    uintptr_t stack;
} top_frame __attribute__((tls_model("initial-exec"))) = {0, UINTPTR_MAX};

/* Last values that any thread has set outside of any function. Relaxed: each parameter stands for
 * itself. */
static uint64_t process_parameters[SPEX_KERNEL_PARAMETERS];

/* Allocates frames by mmap: a hook may run inside of malloc. NULL: no memory. */
static struct frames *frames_map(void) {
    int before = errno;
    void *memory = mmap(NULL, sizeof(struct frames), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = before;
    return memory == MAP_FAILED ? NULL : memory;
}

/* Sets the copy to the frame at this depth; 0: there is none. */
static void top_set(const struct frames *frames, uint32_t depth) {
    const struct frame *frame = depth ? &frames->frames[depth - 1] : NULL;
    top_frame.function = frame ? frame->function : 0;
    top_frame.stack = frame ? frame->stack : UINTPTR_MAX;
}

/* Frees the calling thread's frames. threads.c calls it at the thread's end. */
static void frames_free(void) {
    struct frames *frames = thread_frames;
    if ((uintptr_t)frames > (uintptr_t)BEING_MADE) {
        thread_frames = NULL;
        top_set(NULL, 0);
        munmap(frames, sizeof(*frames));
    }
}

/* The calling thread's frames, allocated at the first call. NULL: no memory, or a signal handler
 * has interrupted the allocation. The end of the thread frees the frames; the thread's state, which
 * runs that hook, must therefore exist. */
static struct frames *frames_of_thread(void) {
    struct frames *frames = spex_load_relaxed(&thread_frames);
    if (SPEX_LIKELY((uintptr_t)frames > (uintptr_t)BEING_MADE))
        return frames;
    if (frames || !spex_thread_attach())
        return NULL;
    spex_store_relaxed(&thread_frames, BEING_MADE);
    spex_threads_end_hook(frames_free);
    frames = frames_map();
    spex_store_relaxed(&thread_frames, frames);
    return frames;
}

/* A function begins with the parameters of the function around it. Without one it takes those that
 * the thread has set, or else those that any thread has set. */
static void parameters_inherit(const struct frames *frames, struct frame *frame, uint32_t depth) {
    for (unsigned p = 0; p < SPEX_KERNEL_PARAMETERS; p++) {
        if (depth)
            frame->parameters[p] = frames->frames[depth - 1].parameters[p];
        else if (frames->given >> p & 1)
            frame->parameters[p] = frames->parameters[p];
        else
            frame->parameters[p] = spex_load_relaxed(&process_parameters[p]);
    }
}

/* Whether the function is being executed already: recursion. The inner execution is a part of the
 * outer one's time and makes no record. A new context has a higher number than the one around it.
 * Otherwise the execution is back in a context of the same function, or found no room for its own
 * context and is in that of another kernel. */
static bool is_within_itself(const struct spex_site *site, const struct spex_kernel_span *span) {
    struct spex_context_node node;
    return span->context <= span->before && spex_context_node(span->context, &node) &&
           node.kernel == site->probe_id;
}

/* Pushes the frame and begins the execution as SPEX_KERNEL_BEGIN does. */
static void function_enter(struct spex_site *site, uintptr_t function, uintptr_t stack) {
    struct frames *frames = frames_of_thread();
    if (!frames) {
        spex_threads_note_unrecorded(1);
        return;
    }
    uint32_t depth = frames->depth;
    if (depth == FRAMES_MAX) {
        frames->beyond++;
        /* Any exit from now on may be that of a function without a frame. */
        top_frame.stack = 0;
        return;
    }
    spex_store_relaxed(&frames->depth, depth + 1);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct frame *frame = &frames->frames[depth];
    frame->function = function;
    frame->stack = top_frame.stack = stack;
    top_frame.function = function;
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

/* Ends the execution and pops the frame. Frames above it belong to functions that were left without
 * their exit hook: their contexts are left, without a record. */
static void function_leave(uintptr_t function) {
    struct frames *frames = spex_load_relaxed(&thread_frames);
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

/* function_calls.c finds instrumented functions by their calls of these symbols. Without noinline
 * the compiler could copy a hook into its callers; without `used` it could call a specialised
 * version. */
#define HOOK __attribute__((noinline, used))

HOOK void __cyg_profile_func_enter(void *function, void *caller) {
    const struct spex_function_table *table =
        spex_load_acquire(&spex_function_table); /* F1 (F2 in functions.c) */
    (void)caller;
    if (SPEX_LIKELY(!table))
        return;
    struct spex_site *site = spex_function_site(table, (uintptr_t)function);
    if (site && SPEX_UNLIKELY(spex_load_relaxed(&site->control)))
        function_enter(site, (uintptr_t)function, (uintptr_t)__builtin_frame_address(0));
}

HOOK void __cyg_profile_func_exit(void *function, void *caller) {
    const struct spex_function_table *table =
        spex_load_acquire(&spex_function_table); /* F1 (F2 in functions.c) */
    (void)caller;
    if (SPEX_LIKELY(!table))
        return;
    bool is_top = top_frame.function == (uintptr_t)function;
    if (SPEX_UNLIKELY(is_top || (uintptr_t)__builtin_frame_address(0) > top_frame.stack) &&
        spex_function_site(table, (uintptr_t)function))
        function_leave((uintptr_t)function);
}

/* Within a function that is on, the value is for that function and those within it. Outside of
 * all, it is for what the thread calls later, and for threads that have set none. */
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
    spex_store_relaxed(&process_parameters[slot - 1], value);
}

/* Weak, see functions.h: an instrumented program alone links this file. */
int spex_functions_make(const char *filter) {
    return spex_function_kernels_make(filter, (uintptr_t)&__cyg_profile_func_enter);
}
