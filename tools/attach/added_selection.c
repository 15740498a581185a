/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tools/attach/added_selection.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/control_client.h"
#include "ring/probe_type.h"
#include "site/provider.h"
#include "text/waits.h"
#include "tools/common/complain.h"

void spex_added_list_add(struct spex_added_list *list, const struct spex_profile_site *site,
                         bool mixed, const char *behind) {
    char probe[SPEX_PROBE_TEXT_BYTES], item[SPEX_PROBE_TEXT_BYTES + 48];
    spex_probe_selector(mixed ? site->provider : NULL, site->name,
                        spex_profile_id(site->probe_id, site->declared), probe, sizeof(probe));
    int length = snprintf(item, sizeof(item), "%s%s:%s%s", list->count ? "," : "+", probe,
                          spex_probe_type_name(site->probe_type), behind);
    char *grown = realloc(list->text, list->length + (size_t)length + 1);
    if (!grown) {
        list->err = -ENOMEM;
        return;
    }
    memcpy(grown + list->length, item, (size_t)length + 1);
    list->text = grown;
    list->length += (size_t)length;
    list->count++;
}

/* Prints the warning of an answer, such as that a selection matches no probe. */
static void answer_print(const struct spex_profile_reader *reader) {
    if (reader->text[0])
        fprintf(stderr, "spex: %s\n", reader->text);
}

int spex_added_selection_make(struct spex_added_selection *added, pid_t process,
                              const char *selection, struct spex_error *error) {
    *added = (struct spex_added_selection){.process = process, .budget = added->budget};
    spex_held_lease_open(&added->lease, process, SPEX_HELD_LEASE_MS);
    added->lease.budget = added->budget;
    int err = spex_held_lease_take(&added->lease, selection, error);
    if (err)
        return err;
    answer_print(&added->lease.reader);
    err = spex_lease_keeper_start(&added->keeper, &added->lease);
    return err ? spex_fail(error, err, "the lease cannot be renewed: %s", strerror(-err)) : 0;
}

int spex_added_selection_make_of(struct spex_added_selection *added, pid_t process,
                                 const char *probes, struct spex_error *error) {
    char *relative = NULL;
    if (asprintf(&relative, "%s%s", probes[0] == '+' ? "" : "+", probes) < 0)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = spex_added_selection_make(added, process, relative, error);
    free(relative);
    return err;
}

/* poll reports a pidfd as readable after the end of its process. */
static bool has_ended(int process_fd) {
    struct pollfd process = {.fd = process_fd, .events = POLLIN};
    return process_fd >= 0 && spex_wait_ready(&process, 1, 0) == 1;
}

/* A program that has ended needs nothing. */
void spex_added_selection_restore(struct spex_added_selection *added, bool over, int process_fd) {
    struct spex_error error;
    if (!added->process)
        return;
    spex_lease_keeper_stop(&added->keeper);
    int err =
        spex_held_lease_close(&added->lease, spex_deadline_in(SPEX_CLIENT_ANSWER_MS / 1e3), &error);
    if (err && !over && err != -ESRCH && !has_ended(process_fd))
        spex_complain(0, "probes of process %d go off when their lease of %d s is over: %s",
                      (int)added->process, SPEX_HELD_LEASE_MS / 1000, error.text);
    added->process = 0;
}
