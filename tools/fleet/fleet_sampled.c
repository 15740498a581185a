/* SPDX-License-Identifier: MIT */
#include "tools/fleet/fleet_sampled.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* Messages that wait, and for how long they are taken in one turn. */
enum { MESSAGES_MOST = 4096 };
#define TAKE_NS UINT64_C(20000000)

int spex_fleet_sampled_open(struct spex_fleet_sampled *sampled, struct spex_link *link,
                            const char *fleet) {
    char prefix[SPEX_LINK_NAME_BYTES];
    snprintf(prefix, sizeof(prefix), "spex.%s.kernels", fleet);
    return spex_link_listen(link, prefix, MESSAGES_MOST, &sampled->inbox);
}

void spex_fleet_sampled_close(struct spex_fleet_sampled *sampled) {
    spex_link_inbox_free(sampled->inbox);
    spex_fleet_kernels_free(&sampled->kernels);
}

/* 0, -EINVAL with the reason, or -ENOMEM. */
static int take_one(struct spex_fleet_sampled *sampled, const struct spex_lead *lead,
                    const struct spex_link_message *message, double now, struct spex_error *error) {
    struct spex_kernel_message told = {.count = 0};
    int err = spex_link_is_name(message->subject)
                  ? spex_kernel_message_read(message->data, message->size, &told, error)
                  : spex_fail(error, -EINVAL, "a host's name was expected");
    if (!err && spex_lead_is_others(lead, message->subject, told.agent))
        err = spex_fail(error, -EINVAL, "another agent reports for it");
    err = err ? err : spex_fleet_kernels_take(&sampled->kernels, &told, false, now);
    spex_kernel_message_free(&told);
    return err;
}

int spex_fleet_sampled_take(struct spex_fleet_sampled *sampled, const struct spex_lead *lead,
                            double now, struct spex_error *error) {
    struct spex_link_message message;
    uint64_t until_ns = spex_clock_ns(CLOCK_MONOTONIC) + TAKE_NS;
    int err = 0;
    error->text[0] = '\0';
    while (err != -ENOMEM && spex_clock_ns(CLOCK_MONOTONIC) < until_ns &&
           spex_link_take(sampled->inbox, 0, &message)) {
        struct spex_error why = {""};
        err = take_one(sampled, lead, &message, now, &why);
        if (err && err != -ENOMEM) {
            sampled->refused++;
            spex_error_set(error, "kernels of host %s were refused: %s", message.subject, why.text);
        }
        spex_link_message_free(&message);
    }
    return err == -ENOMEM ? err : 0;
}

static json_t *overview(const struct spex_fleet_sampled *sampled) {
    json_t *json = spex_fleet_kernels_json(&sampled->kernels);
    json_object_set_new(json, "refused", json_integer((json_int_t)sampled->refused));
    json_object_set_new(json, "dropped",
                        json_integer((json_int_t)spex_link_dropped(sampled->inbox)));
    return json_pack("{s:o}", "kernels", json);
}

json_t *spex_fleet_sampled_answer(const struct spex_fleet_sampled *sampled, const char *request) {
    char name[SPEX_CLASS_BYTES];
    size_t length = strcspn(request, " ");
    if (!*request)
        return overview(sampled);
    snprintf(name, sizeof(name), "%.*s", (int)length, request);
    const struct spex_fleet_class *class =
        length < sizeof(name) ? spex_fleet_class_find(&sampled->kernels, name) : NULL;
    if (!class)
        return json_pack("{s:s}", "error",
                         "no kernels of such a class were told; spex fleet models lists classes");
    return json_pack(
        "{s:o}", "message",
        spex_fleet_class_kernel_json(class, request[length] ? request + length + 1 : NULL));
}
