/* SPDX-License-Identifier: MIT */
/* Notes of USDT probes as <sys/sdt.h> makes them, which need not be installed; and ones that say what cannot be. */
#ifndef SPEX_TEST_USDT_NOTES_H
#define SPEX_TEST_USDT_NOTES_H

/* Where the object says that it is linked. */
#define USDT_BASE                                                                                  \
    ".ifndef _.stapsdt.base\n"                                                                     \
    ".pushsection .stapsdt.base,\"aG\",%progbits,.stapsdt.base,comdat\n"                           \
    ".weak _.stapsdt.base\n"                                                                       \
    ".hidden _.stapsdt.base\n"                                                                     \
    "_.stapsdt.base: .space 1\n"                                                                   \
    ".size _.stapsdt.base, 1\n"                                                                    \
    ".popsection\n"                                                                                \
    ".endif\n"

/* A note; addresses are expressions of the assembler, and `texts` are its last lines. */
#define USDT_NOTE(address, base, semaphore, texts)                                                 \
    ".pushsection .note.stapsdt,\"\",%note\n"                                                      \
    ".balign 4\n"                                                                                  \
    ".4byte 8, 982f-981f, 3\n"                                                                     \
    ".asciz \"stapsdt\"\n"                                                                         \
    "981: .8byte " address ", " base ", " semaphore "\n" texts "\n"                                \
    "982: .balign 4\n"                                                                             \
    ".popsection\n"

#define USDT_TEXTS(provider, name) ".asciz \"" provider "\"\n.asciz \"" name "\"\n.asciz \"\"\n"

/* A site, in a function. `semaphore`: a symbol of 2 bytes in the data, or 0. */
#define USDT_SITE(provider, name, semaphore)                                                       \
    __asm__ volatile("990: nop\n" USDT_BASE USDT_NOTE("990b", "_.stapsdt.base", semaphore,         \
                                                      USDT_TEXTS(provider, name)))

#endif
