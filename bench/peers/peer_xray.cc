// SPDX-License-Identifier: MIT
// XRay of clang: the entry, with its argument, and the exit of a function, written by its flight
// data recorder to buffers of the thread, of which the oldest is written over. Nobody reads them.
#include <xray/xray_interface.h>
#include <xray/xray_log_interface.h>

#include "peer.h"

PEER_HOOKED(hooked, xray_always_instrument, xray_log_args(1))
PEER_HOOKED(plain, xray_never_instrument)

PEER_LOOP(pairs, hooked(i);)
PEER_LOOP(empty, plain(i);)

// By default calls of less than 5 us are not kept.
static const char *on() {
    if (__xray_log_select_mode("xray-fdr") != XRAY_REGISTRATION_OK ||
        __xray_log_init_mode("xray-fdr",
                             "func_duration_threshold_us=0:buffer_max=16:"
                             "buffer_size=1048576:no_file_flush=true") != XRAY_LOG_INITIALIZED)
        return "the flight data recorder does not start";
    return __xray_patch() == SUCCESS ? nullptr : "the functions cannot be patched";
}

extern "C" const peer_case peer_cases[] = {{"off", pairs, empty, nullptr, nullptr},
                                           {"on", pairs, empty, on, nullptr},
                                           {nullptr, nullptr, nullptr, nullptr, nullptr}};
