/* SPDX-License-Identifier: MIT */
/* Functions as kernels, without a change of their source. Compile a program with
 * -finstrument-functions (gcc, clang) and link it with libspex.a. The program must start spex.
 * Where nothing in it calls spex_start, add a file with a constructor:
 *
 *     #include <spex/spex.h>
 *     __attribute__((constructor)) static void start(void) { spex_start(NULL); }
 *
 * The program's user then makes kernels (kernel.h) of the functions whose names match
 * SPEX_FUNCTIONS:
 *
 *     SPEX_FUNCTIONS='sort_*,sort_swap@off' SPEX_PROBES='sort_*' ./app
 *
 * SPEX_FUNCTIONS is a list of globs, separated by commas. The last glob that matches a name
 * decides; "@off" behind it leaves the function out. The kernels are then selected as other probes
 * are: by name, id, or file=GLOB over the path of the program or library.
 *
 * When: functions become kernels at the first spex_start of the process. Libraries must be loaded
 * by then.
 *
 * Names come from the symbol table; a stripped program has the names of the functions that it
 * exports. C++ names have no arguments, and "." instead of "::". Functions of the same name are
 * numbered: the second one has "#2" behind its name.
 *
 * Linking: with link-time optimisation add -Wl,-u,__cyg_profile_func_enter, because the calls
 * appear after the linker has searched the libraries. In statically linked C++ add
 * -Wl,-u,__cxa_demangle; without it names stay as the linker knows them.
 *
 * Cost: instrumented code calls the library at the beginning and at the end of each function,
 * whether it is a kernel or not. So a function that is off costs two calls (bench/functions has
 * figures). Leave out `inline` functions and short ones when compiling:
 * -finstrument-functions-exclude-function-list=NAMES (gcc), -finstrument-functions-after-inlining
 * (clang).
 *
 * What kernel.h says of contexts, signal handlers and longjmp holds for functions. These executions
 * make no record: one that was going on when the function was switched on; one that is nested more
 * than 1000 functions deep; and one within another of the same function (recursion), which is a
 * part of the outer one and is not counted either: its parameters would be those of that. */
#ifndef SPEX_FUNCTIONS_H
#define SPEX_FUNCTIONS_H

#include <spex/detail/names_begin.h>

#include <spex/kernel.h>

SPEX_HEADER_BEGIN_

/* A place in the code where a parameter is given, in the section `spex_parameters`. */
struct spex_parameter_place {
    /* Bytes from this member to the parameter's name, a string in the same object. */
    int64_t name_offset;
    /* Written by the library: the number of the parameter, from 1 on; 0: no kernel has it. */
    uint32_t slot;
    uint32_t reserved;
};

SPEX_EXTERN_C_BEGIN

/* Registers an object's places and removes them, as spex_module_register (site.h). */
SPEX_PROBE_API void spex_parameters_register(struct spex_parameter_place *places,
                                             struct spex_parameter_place *places_end);
SPEX_PROBE_API void spex_parameters_unregister(struct spex_parameter_place *places);

/* Sets a parameter, as spex_parameter. Any thread, signal handlers. */
SPEX_PROBE_API void spex_parameter_set(uint32_t slot, uint64_t value);

SPEX_EXTERN_C_END

extern struct spex_parameter_place spex_parameters_begin_[] __asm__("__start_spex_parameters")
    __attribute__((__weak__, __visibility__("hidden")));
extern struct spex_parameter_place spex_parameters_end_[] __asm__("__stop_spex_parameters")
    __attribute__((__weak__, __visibility__("hidden")));

#define SPEX_CHECK_WHOLE_(value)                                                                   \
    SPEX_KINDS_(spex_kinds_, 0, value);                                                            \
    SPEX_STATIC_ASSERT_(spex_kinds_ >> 1 == 0, "spex: a parameter of functions is a whole number")

#if !defined(SPEX_DISABLE)

#if !defined(SPEX_BUILDING)
__attribute__((__constructor__, __no_instrument_function__)) static void spex_parameters_enter_(
    void) {
    if (spex_parameters_register)
        spex_parameters_register(spex_parameters_begin_, spex_parameters_end_);
}

__attribute__((__destructor__, __no_instrument_function__)) static void spex_parameters_leave_(
    void) {
    if (spex_parameters_unregister)
        spex_parameters_unregister(spex_parameters_begin_);
}
#endif

SPEX_INLINE uint32_t spex_parameter_slot_(const struct spex_parameter_place *place) {
    return spex_load_relaxed(&place->slot);
}

/* spex_parameter("n", rows); names a number that the time of functions depends on. `value` is a
 * whole number, converted to uint64_t.
 *
 * Within a function that is on, the value holds for the innermost such function and for what it
 * calls from here on, until it returns. Outside, it holds for all that this thread executes from
 * now on, and for threads that have set none themselves.
 *
 * All functions have all parameters that the program names anywhere, at most
 * SPEX_KERNEL_PARAMETERS; a parameter that was never given is 0. Any thread, signal handlers. While
 * no function is a kernel it costs one load and one branch, and `value` is not evaluated. */
#define spex_parameter(name, value)                                                                \
    do {                                                                                           \
        SPEX_CHECK_WHOLE_(value);                                                                  \
        struct spex_parameter_place *spex_place_;                                                  \
        uint32_t spex_slot_;                                                                       \
        __asm__(".pushsection spex_parameters, \"aw?\", %%progbits\n"                              \
                ".balign 8\n"                                                                      \
                "991: .8byte %c[spex_text_] - .\n"                                                 \
                ".4byte 0, 0\n"                                                                    \
                ".popsection\n" SPEX_ASM_ADDRESS_("%0")                                            \
                : "=r"(spex_place_)                                                                \
                : [spex_text_] SPEX_ASM_SYMBOL_(("" name)));                                       \
        spex_slot_ = spex_parameter_slot_(spex_place_);                                            \
        if (SPEX_UNLIKELY(spex_slot_))                                                             \
            spex_parameter_set(spex_slot_, SPEX_WORD_(value));                                     \
    } while (0)

#else

#define spex_parameter(name, value)                                                                \
    do {                                                                                           \
        SPEX_CHECK_WHOLE_(value);                                                                  \
        if (0)                                                                                     \
            (void)SPEX_WORD_(value);                                                               \
    } while (0)

#endif

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
