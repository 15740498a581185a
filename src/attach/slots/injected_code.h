/* SPDX-License-Identifier: MIT */
/* Code that makes system calls and gives all registers back. It uses no stack, and leaves the flags as they are. */
#ifndef SPEX_ATTACH_SLOTS_INJECTED_CODE_H
#define SPEX_ATTACH_SLOTS_INJECTED_CODE_H

#include <stdint.h>
#include <sys/user.h>

#include "attach/slots/injection.h"

#ifdef __x86_64__

/* `registers` are those that the thread stopped with, `blocked` the signals that it blocks, and will again. */
void spex_injected_code_write(const struct spex_injection *injection,
                              const struct user_regs_struct *registers, uint64_t blocked,
                              uint8_t bytes[SPEX_INJECTION_BYTES]);

#endif
#endif
