/* SPDX-License-Identifier: MIT */
/* The provider of probes: the library or program that they belong to. Ids and names of probes are
 * its own, so probes of different providers are different, whatever their ids and names. */
#ifndef SPEX_SITE_PROVIDER_H
#define SPEX_SITE_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/site.h>

/* Copies the provider that an object with this file has unless it declares one: the file's name
 * without its folders, and without ".so" and what follows it. `name` has SPEX_NAME_BYTES. */
void spex_provider_of_path(const char *path, char *name);

/* Copies the path of the object of this process that contains `address`, as the loader knows it;
 * the program's for an address that no object contains. Takes the loader's lock, so the caller
 * holds none that a constructor may take. `path` has PATH_MAX bytes. */
void spex_object_path(const void *address, char *path);

/* Whether the program itself contains `address`, and not a library, which may be unloaded. Takes
 * the loader's lock. */
bool spex_is_of_program(const void *address);

/* Whether one object of this process contains both addresses. Takes the loader's lock. */
bool spex_is_of_one_object(const void *one, const void *other);

/* Room for "provider/name" with the longest of both (of a stream, 127 bytes each). */
enum { SPEX_PROBE_TEXT_BYTES = 2 * 128 };

/* Writes "provider/name", with the id where `name` is NULL or empty; without a provider that is
 * NULL or empty. Returns `text`. */
const char *spex_probe_called(const char *provider, const char *name, int32_t id, char *text,
                              size_t size);

/* Writes what selects the probe: "provider/id", with the name where the id is -1, and without the
 * provider as above. Characters with a
 * meaning in selections become "?". Returns `text`. */
const char *spex_probe_selector(const char *provider, const char *name, int32_t id, char *text,
                                size_t size);

/* Returns the provider that an entry of the section `spex_names` declares; NULL: the entry is a
 * probe's name. */
static inline const char *spex_provider_declared(const struct spex_probe_name *entry) {
    return entry->name[0] == SPEX_PROVIDER_MARK[0] ? entry->name + 1 : NULL;
}

#endif
