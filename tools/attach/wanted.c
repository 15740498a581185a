/* SPDX-License-Identifier: MIT */
#include "tools/attach/wanted.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "observe/control_client.h"
#include "observe/process_place.h"
#include "observe/workers.h"
#include "tools/common/complain.h"
#include "tools/common/process_argument.h"

/* Bytes that the kernel keeps of a name. */
enum { COMM_BYTES = 15 };

/* A number names a process that runs: there will be no other one that is meant by it. A name may be
 * that of programs that start later. */
static int process_check(const char *command, const char *number) {
    pid_t process;
    int status = spex_process_argument(command, number, &process);
    if (!status && kill(process, 0) && errno == ESRCH)
        status = spex_complain(SPEX_EXIT_FAILED, "%s: there is no process %s", command, number);
    return status;
}

int spex_wanted_check(const char *command, const struct spex_wanted *wanted) {
    int status = SPEX_EXIT_OK;
    for (size_t w = 0; !status && w < wanted->count; w++)
        if (spex_is_number(wanted->list[w]))
            status = process_check(command, wanted->list[w]);
    return status;
}

/* What `spex top` follows by a number: that process, or those that descend from it where it has no
 * socket itself. */
static bool is_of(pid_t number, pid_t process) {
    return number == process ||
           (spex_workers_descend(process, number) && spex_client_has_socket(number) == 0);
}

static bool is_called(const char *name, const struct spex_process_place *place) {
    return strncmp(name, place->command, COMM_BYTES) == 0;
}

bool spex_wanted_is_called(const char *name, pid_t process) {
    struct spex_process_place place;
    if (spex_process_place(process, &place) != 0)
        return false;
    bool is = is_called(name, &place);
    spex_process_place_free(&place);
    return is;
}

static bool is_wanted(const char *text, const struct spex_process_place *place) {
    if (spex_is_number(text))
        return is_of((pid_t)strtol(text, NULL, 10), place->process);
    return is_called(text, place);
}

bool spex_wanted_has(const struct spex_wanted *wanted, pid_t process) {
    struct spex_process_place place;
    bool is = wanted->count == 0;
    if (is || spex_process_place(process, &place) != 0)
        return is;
    for (size_t w = 0; !is && w < wanted->count; w++)
        is = is_wanted(wanted->list[w], &place);
    spex_process_place_free(&place);
    return is;
}
