/* SPDX-License-Identifier: MIT */
/* Whether the calling thread is in a handler of a signal. A handler may have interrupted the C
 * library anywhere, so what takes the library's locks, as the start of a thread does, must not be
 * done there. */
#ifndef SPEX_BASE_SIGNAL_FRAME_H
#define SPEX_BASE_SIGNAL_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/* To be called once, in an ordinary place: finds the code by which handlers return, in the program,
 * its C library and the kernel's part of the process, which are never unloaded. `function`: one of
 * the C library. False: spex_signal_frame_above cannot tell. */
bool spex_signal_frames_expect(const void *function);

/* Whether there may be the frame of a handler on the calling thread's stack, within 8 MiB; also
 * where the stack is that for handlers, or cannot be read. Any thread, signal handlers. */
bool spex_signal_frame_above(void);

#endif
