/* SPDX-License-Identifier: MIT */
/* Encodes events by libpfm4's names. In a file of its own: libpfm4's header excludes the
 * kernel's. */
#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdbool.h>
#include <string.h>

#include "base/shared_object.h"
#include "counters/prepare.h"

/* Defined in programs that link libpfm4 themselves, as those must that are linked statically and
 * name events. */
#pragma weak pfm_initialize
#pragma weak pfm_get_os_event_encoding
#pragma weak pfm_strerror

typedef void any_function(void);
typedef __typeof__(pfm_initialize) initialize_function;
typedef __typeof__(pfm_get_os_event_encoding) encode_function;
typedef __typeof__(pfm_strerror) error_text_function;

/* The name that the library has had since version 4.0. */
#define LIBRARY "libpfm.so.4"

int spex_pfm_load(struct spex_pfm *pfm, const char **why) {
    *pfm =
        (struct spex_pfm){(any_function *)pfm_initialize, (any_function *)pfm_get_os_event_encoding,
                          (any_function *)pfm_strerror};
    if (pfm->initialize && pfm->encode && pfm->error_text)
        return 0;
    void *library = spex_library_open(LIBRARY, why);
    if (!library)
        return -ENOENT;
    *(void **)&pfm->initialize = spex_library_symbol(library, "pfm_initialize");
    *(void **)&pfm->encode = spex_library_symbol(library, "pfm_get_os_event_encoding");
    *(void **)&pfm->error_text = spex_library_symbol(library, "pfm_strerror");
    *why = LIBRARY " lacks functions of libpfm4";
    return pfm->initialize && pfm->encode && pfm->error_text ? 0 : -ENOENT;
}

/* Asks for the event in user and kernel mode (PLM0 and PLM3); the name itself may restrict it. */
int spex_name_encode(const struct spex_pfm *pfm, const char *name, struct spex_event_code *code,
                     const char **why) {
    /* The first call initialises libpfm4, later calls return its result. */
    int err = ((initialize_function *)pfm->initialize)();
    struct perf_event_attr attr = {.size = sizeof(attr)};
    pfm_perf_encode_arg_t argument = {.attr = &attr, .size = sizeof(argument)};
    if (err == PFM_SUCCESS)
        err = ((encode_function *)pfm->encode)(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT,
                                               &argument);
    if (err != PFM_SUCCESS) {
        *why = ((error_text_function *)pfm->error_text)(err);
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
