/* SPDX-License-Identifier: MIT */
/* The profile of an instance as an agent sends it to the master: a head, and the frames in which
 * the program itself has told it (wire/control_format.h), without its sites. A message has some of
 * the instance's probes, each with all that it has measured since its collection began, so that a
 * message that is lost or comes twice changes nothing. */
#ifndef SPEX_FLEET_LEAD_PROFILE_MESSAGE_H
#define SPEX_FLEET_LEAD_PROFILE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "text/error.h"

/* A message is not begun with another probe behind so many bytes, and has no more than the second
 * number of them. */
enum { SPEX_FLEET_PROFILE_PART = 128 << 10, SPEX_FLEET_PROFILE_BYTES = 1 << 20 };

/* Bytes of /proc/sys/kernel/random/boot_id, which names a boot of a machine. */
enum { SPEX_FLEET_BOOT_BYTES = 40 };

/* Names an instance on its host. */
struct spex_fleet_reports_by {
    /* The agent's own number. */
    uint32_t agent;
    int32_t process;
    /* When the program was loaded: the process may have become another one. */
    uint64_t loaded_ns;
    char boot[SPEX_FLEET_BOOT_BYTES];
    /* The process has ended, and all of it was told before. */
    bool gone;
};

struct spex_fleet_profile_writer {
    struct spex_fleet_reports_by by;
    /* True if the probe belongs into the message. */
    bool (*wanted)(void *user, const struct spex_profile_probe *probe);
    /* Takes a message. 0 or a negative errno value. */
    int (*send)(void *user, const char *data, size_t size);
    void *user;
    /* Probes that are too large for a message. */
    size_t left_out;
};

/* Writes the messages of a profile; `profile` NULL: one without probes. 0, -ENOMEM, or what `send`
 * has returned. */
int spex_fleet_profile_write(struct spex_fleet_profile_writer *writer,
                             const struct spex_profile *profile);

/* Reads a message, of which nothing is trusted. The profile, to be freed by spex_profile_free, is
 * empty where there is none. 0; -EINVAL or -ENOMEM with the reason. */
int spex_fleet_profile_read(const char *data, size_t size, struct spex_fleet_reports_by *by,
                            struct spex_profile *profile, struct spex_error *error);

#endif
