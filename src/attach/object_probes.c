/* SPDX-License-Identifier: MIT */
/* A note has three addresses and three texts: the site, the address of the section .stapsdt.base when the note was
 * made, the semaphore; the provider, the probe, and its arguments. Where that section is elsewhere now (prelink),
 * the other two addresses have moved with it. */
#define _GNU_SOURCE
#include "attach/object_probes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gelf.h>

#include "attach/code/hit.h"
#include "observe/objects/elf_file.h"
#include "text/printable.h"

enum { NOTE_TYPE = 3, ADDRESSES = 3, TEXTS = 3, SEMAPHORE_BYTES = 2 };

#define NOTE_NAME "stapsdt"

/* Sites are added to the room that is left. */
struct reading {
    const struct spex_elf_file *file;
    const struct spex_object_functions *object;
    struct spex_object_probes *probes;
    size_t room;
    /* Where .stapsdt.base is; 0: nowhere. */
    uint64_t base;
};

/* The place of a semaphore in the file: within a segment of data, as a whole. 0: it is in none. */
static uint64_t semaphore_offset(const struct spex_elf_file *file, uint64_t address) {
    for (size_t s = 0; s < file->segment_count; s++) {
        const Elf64_Phdr *segment = &file->segments[s];
        uint64_t into = address - segment->p_vaddr;
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_W && address >= segment->p_vaddr &&
            segment->p_filesz >= SEMAPHORE_BYTES && into <= segment->p_filesz - SEMAPHORE_BYTES &&
            segment->p_offset < file->bytes && into < file->bytes - segment->p_offset)
            return segment->p_offset + into;
    }
    return 0;
}

/* Whether the code has a nop there, and, as far as a symbol tells, at the begin of an instruction. */
static bool is_site(const struct spex_object_functions *object, uint64_t address) {
    if (address - object->code.address >= object->code.size)
        return false;
    size_t bytes;
    const uint8_t *code = spex_object_functions_bytes(object, address, &bytes);
    return spex_is_nop(code, bytes) && !spex_object_functions_is_within(object, address);
}

/* The text at the begin of what is left, which goes on behind it; NULL: it does not end. */
static const char *take_text(const char **rest, size_t *left) {
    const char *text = *rest;
    size_t length = strnlen(text, *left);
    if (length == *left)
        return NULL;
    *rest += length + 1;
    *left -= length + 1;
    return text;
}

static int add_site(struct reading *reading, const char *provider, const char *name,
                    uint64_t address, uint64_t semaphore) {
    struct spex_object_probes *probes = reading->probes;
    if (probes->count == reading->room) {
        size_t room = reading->room ? 2 * reading->room : 64;
        struct spex_object_probe_site *grown = realloc(probes->items, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        probes->items = grown;
        reading->room = room;
    }
    char *both = NULL;
    if (asprintf(&both, "%s:%s", provider, name) < 0)
        return -ENOMEM;
    spex_make_printable(both);
    probes->items[probes->count++] = (struct spex_object_probe_site){both, address, semaphore};
    return 0;
}

/* Takes what a note describes; -EINVAL: that cannot be. */
static int take_note(struct reading *reading, const char *bytes, size_t count) {
    uint64_t addresses[ADDRESSES], semaphore = 0;
    const char *texts[TEXTS];
    if (count < sizeof(addresses))
        return -EINVAL;
    memcpy(addresses, bytes, sizeof(addresses));
    bytes += sizeof(addresses);
    count -= sizeof(addresses);
    for (unsigned t = 0; t < TEXTS; t++)
        if (!(texts[t] = take_text(&bytes, &count)))
            return -EINVAL;
    uint64_t moved = reading->base && addresses[1] ? reading->base - addresses[1] : 0;
    if (addresses[2] && !(semaphore = semaphore_offset(reading->file, addresses[2] + moved)))
        return -EINVAL;
    if (!*texts[0] || !*texts[1] || semaphore % SEMAPHORE_BYTES ||
        !is_site(reading->object, addresses[0] + moved))
        return -EINVAL;
    return add_site(reading, texts[0], texts[1], addresses[0] + moved, semaphore);
}

/* What is behind a note that is cut off is left out. */
static int take_notes(struct reading *reading, Elf_Data *data) {
    size_t at = 0, next, name, description;
    GElf_Nhdr header;
    while (at < data->d_size && (next = gelf_getnote(data, at, &header, &name, &description))) {
        const char *bytes = data->d_buf;
        bool one = header.n_type == NOTE_TYPE && header.n_namesz == sizeof(NOTE_NAME) &&
                   memcmp(bytes + name, NOTE_NAME, sizeof(NOTE_NAME)) == 0;
        int err = one && reading->probes->count < SPEX_OBJECT_PROBE_SITES_MAX
                      ? take_note(reading, bytes + description, header.n_descsz)
                      : 0;
        if (err == -ENOMEM)
            return err;
        reading->probes->malformed += err != 0;
        at = next;
    }
    reading->probes->malformed += data->d_size - at >= sizeof(header);
    return 0;
}

/* The size is checked because libelf reads all of it. */
static int read_sections(struct reading *reading) {
    const struct spex_elf_file *file = reading->file;
    int err = 0;
    for (Elf_Scn *section = NULL; !err && (section = elf_nextscn(file->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE ||
            header.sh_flags & SHF_COMPRESSED || header.sh_offset > file->bytes ||
            header.sh_size > file->bytes - header.sh_offset)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        if (data && data->d_buf)
            err = take_notes(reading, data);
    }
    return err;
}

static int by_name(const void *a, const void *b) {
    const struct spex_object_probe_site *one = a, *other = b;
    int names = strcmp(one->name, other->name);
    if (names)
        return names;
    if (one->address != other->address)
        return one->address < other->address ? -1 : 1;
    return (one->semaphore > other->semaphore) - (one->semaphore < other->semaphore);
}

/* A note that stands there twice would have a site counted twice. */
static void drop_doubles(struct spex_object_probes *probes) {
    size_t kept = 0;
    for (size_t s = 0; s < probes->count; s++) {
        struct spex_object_probe_site *item = &probes->items[s];
        const struct spex_object_probe_site *last = kept ? &probes->items[kept - 1] : NULL;
        if (last && last->address == item->address && strcmp(last->name, item->name) == 0) {
            free(item->name);
            probes->malformed++;
        } else {
            probes->items[kept++] = *item;
        }
    }
    probes->count = kept;
}

int spex_object_probes_read(int fd, const char *name, const struct spex_object_functions *object,
                            struct spex_object_probes *probes, struct spex_error *error) {
    struct spex_elf_file file;
    *probes = (struct spex_object_probes){.items = NULL};
    int err = spex_elf_file_open(fd, name, &file, error);
    if (err)
        return err;
    struct reading reading = {.file = &file,
                              .object = object,
                              .probes = probes,
                              .base = spex_elf_file_section_address(&file, ".stapsdt.base")};
    err = read_sections(&reading);
    spex_elf_file_close(&file);
    if (err) {
        spex_object_probes_free(probes);
        return spex_fail(error, err, "out of memory");
    }
    if (probes->count)
        qsort(probes->items, probes->count, sizeof(*probes->items), by_name);
    drop_doubles(probes);
    return 0;
}

void spex_object_probes_free(struct spex_object_probes *probes) {
    for (size_t s = 0; s < probes->count; s++)
        free(probes->items[s].name);
    free(probes->items);
    *probes = (struct spex_object_probes){.items = NULL};
}
