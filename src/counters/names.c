/* SPDX-License-Identifier: MIT */
/* Encodes events by libpfm4's names. In a file of its own: libpfm4's header excludes the
 * kernel's. */
#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdbool.h>
#include <string.h>

#include "counters/prepare.h"

/* Asks for the event in user and kernel mode (PLM0 and PLM3); the name itself may restrict it. */
int spex_name_encode(const char *name, struct spex_event_code *code, const char **why) {
    /* The first call initialises libpfm4, later calls return its result. */
    int err = pfm_initialize();
    struct perf_event_attr attr = {.size = sizeof(attr)};
    pfm_perf_encode_arg_t argument = {.attr = &attr, .size = sizeof(argument)};
    if (err == PFM_SUCCESS)
        err =
            pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &argument);
    if (err != PFM_SUCCESS) {
        *why = pfm_strerror(err);
        return -ENOENT;
    }
    *code = (struct spex_event_code){
        .type = attr.type,
        .config = attr.config,
        .config1 = attr.config1,
        .config2 = attr.config2,
        .exclude = (attr.exclude_user ? SPEX_EXCLUDE_USER : 0u) |
                   (attr.exclude_kernel ? SPEX_EXCLUDE_KERNEL : 0u) |
                   (attr.exclude_hv ? SPEX_EXCLUDE_HYPERVISOR : 0u) |
                   (attr.exclude_guest ? SPEX_EXCLUDE_GUEST : 0u) |
                   (attr.exclude_host ? SPEX_EXCLUDE_HOST : 0u),
    };
    return 0;
}
