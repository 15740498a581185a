/* SPDX-License-Identifier: MIT */
/* Parts that several kinds of messages share. */
#ifndef SPEX_FLEET_DECIDE_PARTS_H
#define SPEX_FLEET_DECIDE_PARTS_H

#include <jansson.h>

#include "fleet/decide/message.h"

/* The version of the format. Others are refused. */
enum { SPEX_FLEET_FORMAT = 1 };

/* JSON of a part; NULL: no memory. */
json_t *spex_fleet_texts_json(const struct spex_fleet_texts *texts);
json_t *spex_fleet_set_json(const struct spex_fleet_set *set, size_t count);
json_t *spex_fleet_key_json(const struct spex_fleet_instance_key *key);

/* The text of an object, which is released; NULL: no memory. To be freed. */
char *spex_fleet_json_text(json_t *json);

/* Reads the object of a message. NULL: with the reason. */
json_t *spex_fleet_json_read(const char *text, size_t size, struct spex_error *error);

/* Read a part. 0, -EINVAL or -ENOMEM with the reason. */
int spex_fleet_texts_read(const json_t *json, struct spex_fleet_texts *texts,
                          struct spex_error *error);
int spex_fleet_set_read(const json_t *json, size_t count, struct spex_fleet_set *set,
                        struct spex_error *error);
int spex_fleet_key_read(const json_t *json, struct spex_fleet_instance_key *key,
                        struct spex_error *error);
int spex_fleet_number_read(const json_t *object, const char *name, uint64_t *number,
                           struct spex_error *error);

/* A printable text of less than `size` bytes. */
int spex_fleet_text_read(const json_t *object, const char *name, char *text, size_t size,
                         struct spex_error *error);

/* The array of instances, of at most SPEX_FLEET_HOST_INSTANCES_MAX; NULL: with the reason. */
const json_t *spex_fleet_instances_read(const json_t *object, struct spex_error *error);

#endif
