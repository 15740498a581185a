/* SPDX-License-Identifier: MIT */
/* Registers an object's probe sites: an object is a program or a shared library. Indirect header:
 * programs include spex/probe.h.
 *
 * A constructor calls spex_module_register when the object is loaded, a destructor calls
 * spex_module_unregister when it is unloaded. Where libspex is not linked, both do nothing.
 *
 * Every translation unit that includes this header defines both, in one section group (COMDAT), of
 * which the linker keeps a single copy for each object. So a translation unit without probes costs
 * the program nothing. C has no inline functions that are shared between translation units in this
 * way; hence the assembly. Link-time optimisation joins the assembly of several translation units
 * to one file; .ifndef leaves out the copies there. The symbols are hidden: each object has its
 * own, and passes the bounds of its own sections, which the linker defines.
 *
 * The group also has an empty site and an empty name. So each object that refers to the bounds has
 * both sections. Without them, GNU ld would look for the bounds in the libraries that the object
 * links: it exports the bounds of a library although they are hidden (binutils 2.40). */
#ifndef SPEX_DETAIL_MODULE_H
#define SPEX_DETAIL_MODULE_H

#include <spex/site.h>
#include <spex/ticks.h>

/* One function of the group, with the address of it in the array of functions that the loader
 * calls. `text` is the section of the code, `array` init_array or fini_array. */
#define SPEX_ASM_MODULE_FUNCTION_(name, body, text, array)                                         \
    ".pushsection " text ", \"axG\", %progbits, spex_module, comdat\n"                             \
    ".weak " name "\n"                                                                             \
    ".hidden " name "\n"                                                                           \
    ".type " name ", %function\n" name ":\n" body ".size " name ", . - " name "\n"                 \
    ".popsection\n"                                                                                \
    ".pushsection ." array ", \"awG\", %" array ", spex_module, comdat\n"                          \
    ".balign 8\n"                                                                                  \
    ".8byte " name "\n"                                                                            \
    ".popsection\n"

/* An entry of zeros, which nobody takes for a site or a name. */
#define SPEX_ASM_EMPTY_ENTRY_(section, flags, align, bytes)                                        \
    ".pushsection " section ", \"" flags "G\", %progbits, spex_module, comdat\n"                   \
    ".balign " align "\n"                                                                          \
    ".zero " bytes "\n"                                                                            \
    ".popsection\n"

/* The whole of it. The references are weak, so that an object can be linked without libspex, and with
 * a linker that drops the empty entries (--gc-sections). */
/* clang-format off */
#define SPEX_ASM_MODULE_                                                                           \
    ".ifndef spex_module_enter_\n"                                                                 \
    ".weak spex_module_register, spex_module_unregister\n"                                         \
    ".weak __start_spex_sites, __stop_spex_sites, __start_spex_names, __stop_spex_names\n"         \
    ".hidden __start_spex_sites, __stop_spex_sites, __start_spex_names, __stop_spex_names\n"       \
    SPEX_ASM_EMPTY_ENTRY_("spex_sites", "aw", "8", "32")                                           \
    SPEX_ASM_EMPTY_ENTRY_("spex_names", "a", "2", "64")                                            \
    SPEX_ASM_MODULE_FUNCTION_("spex_module_enter_", SPEX_ASM_MODULE_ENTER_,                        \
                              ".text.startup", "init_array")                                       \
    SPEX_ASM_MODULE_FUNCTION_("spex_module_leave_", SPEX_ASM_MODULE_LEAVE_,                        \
                              ".text.exit", "fini_array")                                          \
    ".endif\n"
/* clang-format on */

#if !defined(SPEX_DISABLE) && !defined(SPEX_BUILDING)
__asm__(SPEX_ASM_MODULE_);
#endif
#endif
