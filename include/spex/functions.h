/* SPDX-License-Identifier: MIT */
/* Functions as kernels, without a change of source: of a program that is compiled with -finstrument-functions (gcc,
 * clang) and linked with libspex.a, its user makes kernels of those whose names match SPEX_FUNCTIONS, a list of globs
 * separated by commas, of which the last that matches a name decides; "@off" behind one leaves out what it matches:
 *
 *     SPEX_FUNCTIONS='sort_*,sort_swap@off' SPEX_PROBES='sort_*' ./app
 *
 * They are chosen as other probes are, by name, id, or file=GLOB over the path of the program or library. Functions of
 * libraries must be loaded when the program calls spex_start for the first time, which is when they become kernels.
 * Names come from the symbol table: a stripped program has those that it exports. In C++ they are without arguments, and
 * with "." for "::"; functions of the same name are told apart by "#2" behind it.
 *
 * Two linkers' ways need an option: link-time optimisation -Wl,-u,__cyg_profile_func_enter, since the calls are made after
 * libraries are searched; and statically linked C++ -Wl,-u,__cxa_demangle, or names stay as the linker knows them.
 *
 * Instrumented code calls the library at the beginning and the end of each function, whether it is a kernel or not:
 * unlike a probe of probe.h that costs two calls when it is off (bench/functions has the figures). `inline` functions
 * and what should cost nothing can be left out when compiling: -finstrument-functions-exclude-function-list=NAMES
 * (gcc), -finstrument-functions-after-inlining (clang).
 *
 * What kernel.h says of contexts, handlers and longjmp holds for functions. A function that was being executed when it was
 * switched on, and what is nested more than 1000 functions deep, makes no record; nor does an execution within another of
 * the same function (recursion), since its parameters would be that one's. */
#ifndef SPEX_FUNCTIONS_H
#define SPEX_FUNCTIONS_H

#include <spex/kernel.h>

/* A place where a parameter is given, in the ELF section `spex_parameters`. */
struct spex_parameter_place {
    int64_t name_offset; /* from this member to its name, a string in the same object */
    uint32_t slot;       /* which of a kernel's parameters it is, from 1 on; 0: of none */
    uint32_t reserved;
};

SPEX_EXTERN_C_BEGIN

/* An object's places come and go with it, as spex_module_register. */
SPEX_PROBE_API void spex_parameters_register(struct spex_parameter_place *places,
                                             struct spex_parameter_place *places_end);
SPEX_PROBE_API void spex_parameters_unregister(struct spex_parameter_place *places);

/* Any thread, signal handlers. */
SPEX_PROBE_API void spex_parameter_set(uint32_t slot, uint64_t value);

SPEX_EXTERN_C_END

extern struct spex_parameter_place spex_parameters_begin_[] __asm__("__start_spex_parameters")
    __attribute__((weak, visibility("hidden")));
extern struct spex_parameter_place spex_parameters_end_[] __asm__("__stop_spex_parameters")
    __attribute__((weak, visibility("hidden")));

#if !defined(SPEX_DISABLE)

#if !defined(SPEX_BUILDING)
__attribute__((constructor, no_instrument_function)) static void spex_parameters_enter_(void) {
    if (spex_parameters_register)
        spex_parameters_register(spex_parameters_begin_, spex_parameters_end_);
}

__attribute__((destructor, no_instrument_function)) static void spex_parameters_leave_(void) {
    if (spex_parameters_unregister)
        spex_parameters_unregister(spex_parameters_begin_);
}
#endif

/* spex_parameter("n", rows): what the time of functions depends on; a whole number, converted to uint64_t. It holds for
 * the innermost function that is on and for what that calls from here on, until it returns; outside of any, for all that
 * this thread executes from now on, and for threads that say nothing themselves. All functions have the parameters that
 * the program names anywhere, of which there may be SPEX_KERNEL_PARAMETERS; one that was never given is 0. Where no
 * function has been made a kernel it costs a load and a branch, and `value` is not evaluated. */
#define spex_parameter(name, value)                                                                \
    do {                                                                                           \
        struct spex_parameter_place *spex_place_;                                                  \
        __asm__(".pushsection spex_parameters, \"aw?\", %%progbits\n"                              \
                ".balign 8\n"                                                                      \
                "991: .8byte %c[text] - .\n"                                                       \
                ".4byte 0, 0\n"                                                                    \
                ".popsection\n" SPEX_ASM_ADDRESS_("%0")                                            \
                : "=r"(spex_place_)                                                                \
                : [text] SPEX_ASM_SYMBOL_(("" name)));                                             \
        uint32_t spex_slot_ = spex_load_relaxed(&spex_place_->slot);                               \
        if (SPEX_UNLIKELY(spex_slot_))                                                             \
            spex_parameter_set(spex_slot_, SPEX_WORD_(value));                                     \
    } while (0)

#else

#define spex_parameter(name, value)                                                                \
    do {                                                                                           \
        if (0)                                                                                     \
            (void)SPEX_WORD_(value);                                                               \
    } while (0)

#endif

#endif
