/* SPDX-License-Identifier: MIT */
/* Reads the sections "spex_names" and "spex_sites" of an ELF object, in which the macros of
 * <spex/probe.h> put their probes. A site refers to its source file by a relative offset, so
 * that the text is read from the segment that has its address. Sites that say the same, such as
 * copies of inlined code, become one with a count. Sizes are limited, since the file may come
 * from anyone. */
#include "observe/objects/object_sites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gelf.h>

#include <spex/record.h>

#include "kernels/functions.h"
#include "observe/objects/elf_file.h"
#include "site/provider.h"
#include "site/site_text.h"
#include "text/printable.h"

enum {
    /* The name of a source file, with its terminator. */
    FILE_NAME_BYTES = 4096,
    /* The names of all files and parameters of an object. */
    FILE_NAMES_BYTES_MAX = 1 << 24
};

_Static_assert(sizeof(struct spex_site) == 32 && sizeof(struct spex_probe_name) == 64,
               "the layout that objects of every architecture have");

/* The state of one call of spex_object_sites_read. `name_of_id` has, for each probe id, 1 + the
 * index of its name; 0: no name. */
struct reading {
    const struct spex_elf_file *file;
    struct spex_object_sites *sites;
    struct spex_error *error;
    size_t file_names_bytes;
    struct spex_probe_name *names;
    size_t name_count;
    uint32_t name_of_id[UINT16_MAX + 1];
};

/* Takes the entries of a section, which need not be aligned. 0 or a negative errno value. */
typedef int (*section_reader)(struct reading *reading, const GElf_Shdr *header, const void *entries,
                              size_t count);

/* Gives the contents of a section to `take`. `most`: the most entries that are accepted. */
static int read_section(struct reading *reading, Elf_Scn *section, const GElf_Shdr *header,
                        size_t entry_bytes, size_t most, section_reader take) {
    const char *name = reading->file->name;
    if (header->sh_type == SHT_NOBITS)
        return spex_fail(reading->error, -EINVAL,
                         "%s has none of its probes' contents: is it a file of debug information?",
                         name);
    if (header->sh_size % entry_bytes != 0)
        return spex_fail(reading->error, -EINVAL,
                         "%s is malformed: a section of probes is not made of entries of %zu bytes",
                         name, entry_bytes);
    if (header->sh_size / entry_bytes > most)
        return spex_fail(reading->error, -EINVAL,
                         "%s has %llu probes or names; %zu at most were expected", name,
                         (unsigned long long)(header->sh_size / entry_bytes), most);
    if (header->sh_size == 0)
        return 0;
    Elf_Data *data = elf_rawdata(section, NULL);
    if (!data || !data->d_buf || data->d_size != header->sh_size)
        return spex_fail(reading->error, -EINVAL,
                         "%s is truncated: a section of probes lies beyond its end", name);
    return take(reading, header, data->d_buf, data->d_size / entry_bytes);
}

/* Gives every allocated section called `wanted` to `take`; an object may have several. */
static int read_sections(struct reading *reading, const char *wanted, size_t entry_bytes,
                         size_t most, section_reader take) {
    Elf *elf = reading->file->elf;
    size_t names;
    int err = spex_elf_file_section_names(reading->file, &names, reading->error);
    if (err)
        return err;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC))
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (!name || strcmp(name, wanted) != 0)
            continue;
        err = read_section(reading, section, &header, entry_bytes, most, take);
        if (err)
            return err;
    }
    return 0;
}

/* The first declaration counts, as in the program itself. */
static void take_provider(struct reading *reading, const struct spex_probe_name *entry) {
    const char *declared = spex_provider_declared(entry);
    if (!declared)
        return;
    snprintf(reading->sites->provider, SPEX_NAME_BYTES, "%.*s", SPEX_NAME_BYTES - 1, declared);
}

/* The provider of an object that declares none. Links are followed: the object's own file names
 * it. */
static void set_provider_by_path(struct spex_object_sites *sites, const char *path) {
    char *real = realpath(path, NULL);
    spex_provider_of_path(real ? real : path, sites->provider);
    free(real);
}

/* The first name of a probe id counts, as in the program itself. */
static int take_names(struct reading *reading, const GElf_Shdr *header, const void *entries,
                      size_t count) {
    (void)header;
    if (reading->name_count + count > SPEX_OBJECT_NAMES_MAX)
        return spex_fail(reading->error, -EINVAL, "%s has more than %d names of probes",
                         reading->file->name, SPEX_OBJECT_NAMES_MAX);
    struct spex_probe_name *names =
        realloc(reading->names, (reading->name_count + count) * sizeof(*names));
    if (!names)
        return spex_fail(reading->error, -ENOMEM, "out of memory");
    reading->names = names;
    memcpy(names + reading->name_count, entries, count * sizeof(*names));
    for (size_t n = reading->name_count; n < reading->name_count + count; n++)
        if (names[n].name[0] && !spex_provider_declared(&names[n]) &&
            reading->name_of_id[names[n].probe_id] == 0)
            reading->name_of_id[names[n].probe_id] = (uint32_t)n + 1;
    for (size_t n = reading->name_count + count; n-- > reading->name_count;)
        take_provider(reading, &names[n]);
    reading->name_count += count;
    return 0;
}

/* Names come from the section spex_names, which was read before. */
static void site_set_name(const struct reading *reading, struct spex_object_site *site) {
    uint32_t name = reading->name_of_id[site->probe_id];
    if (name == 0)
        return;
    memcpy(site->name, reading->names[name - 1].name, SPEX_NAME_BYTES);
    spex_make_printable(site->name);
}

/* The arguments of a KERNEL have the names of its parameters, those of a SNAPSHOT of its values. */
static int site_set_parameters(struct reading *reading, struct spex_object_site *site,
                               const char *arguments) {
    const char *parameters = spex_parameters_of(arguments);
    reading->file_names_bytes += strlen(parameters);
    if (!*parameters)
        return 0;
    site->parameters = strdup(parameters);
    if (!site->parameters)
        return spex_fail(reading->error, -ENOMEM, "out of memory");
    spex_make_printable(site->parameters);
    return 0;
}

/* A name in the place of the id. The id that the object gives this name, if it does, is the
 * probe's. */
static void site_set_own_name(const struct reading *reading, struct spex_object_site *site,
                              const char *literal) {
    spex_name_of_literal(literal, site->name, SPEX_NAME_BYTES);
    for (size_t n = 0; n < reading->name_count && site->named; n++)
        if (site->name[0] && strncmp(reading->names[n].name, site->name, SPEX_NAME_BYTES) == 0) {
            site->probe_id = reading->names[n].probe_id;
            site->named = false;
        }
    spex_make_printable(site->name);
}

/* What follows the file's name, and has `got` bytes: arguments, and a name in the place of the id. Texts that do not end are left out. */
static int site_set_texts(struct reading *reading, struct spex_object_site *site, const char *text,
                          size_t got) {
    size_t length = strnlen(text, got);
    if (length == got)
        return 0;
    bool has_names = site->probe_type & (SPEX_KERNEL | SPEX_SNAPSHOT);
    int err = has_names ? site_set_parameters(reading, site, text) : 0;
    const char *literal = text + length + 1;
    got -= length + 1;
    if (!err && site->named && strnlen(literal, got) < got)
        site_set_own_name(reading, site, literal);
    return err;
}

/* Sets the file to the string at `address`, or to "?" when there is none. */
static int site_set_file(struct reading *reading, struct spex_object_site *site, uint64_t address) {
    char text[FILE_NAME_BYTES];
    size_t got = spex_elf_file_at(reading->file, address, text, sizeof(text));
    size_t length = strnlen(text, got);
    if (length == 0 || length == got)
        got = length = (size_t)(stpcpy(text, "?") - text);
    reading->file_names_bytes += length + 1;
    if (reading->file_names_bytes > FILE_NAMES_BYTES_MAX)
        return spex_fail(reading->error, -EINVAL,
                         "%s is malformed: its source files' names have more than %d bytes",
                         reading->file->name, FILE_NAMES_BYTES_MAX);
    site->file = strdup(text);
    if (!site->file)
        return spex_fail(reading->error, -ENOMEM, "out of memory");
    spex_make_printable(site->file);
    return length < got ? site_set_texts(reading, site, text + length + 1, got - length - 1) : 0;
}

/* The type of the probe; 0 when the number in the file is none. */
static uint32_t raw_site_type(const struct spex_site *raw) {
    return (raw->type_number & ~SPEX_SITE_NAMED) <= SPEX_PROBE_TYPES ? spex_site_type_(raw) : 0;
}

/* `address`: that of the site when the object is loaded. The offset of the file name is
 * relative to its own member. */
static int take_site(struct reading *reading, const struct spex_site *raw, uint64_t address) {
    struct spex_object_site *site = &reading->sites->items[reading->sites->count++];
    *site = (struct spex_object_site){
        .probe_id = raw->probe_id,
        .probe_type = (uint16_t)raw_site_type(raw),
        .named = raw->type_number & SPEX_SITE_NAMED,
        .detail = raw->detail,
        .region = raw->region,
        .subsample = raw->subsample,
        .line = raw->line,
        .copies = 1,
    };
    if (!site->named)
        site_set_name(reading, site);
    uint64_t member = address + offsetof(struct spex_site, file_offset);
    return site_set_file(reading, site, member + (uint64_t)raw->file_offset);
}

/* Sites without a type are no probes: those of regions, and the empty one of each object. */
static int take_sites(struct reading *reading, const GElf_Shdr *header, const void *entries,
                      size_t count) {
    struct spex_object_sites *sites = reading->sites;
    if (sites->count + count > SPEX_OBJECT_SITES_MAX)
        return spex_fail(reading->error, -EINVAL, "%s has more than %d probe sites",
                         reading->file->name, SPEX_OBJECT_SITES_MAX);
    struct spex_object_site *items = realloc(sites->items, (sites->count + count) * sizeof(*items));
    if (!items)
        return spex_fail(reading->error, -ENOMEM, "out of memory");
    sites->items = items;
    int err = 0;
    for (size_t s = 0; s < count && !err; s++) {
        struct spex_site raw;
        memcpy(&raw, (const char *)entries + s * sizeof(raw), sizeof(raw));
        if (!raw.type_number)
            continue;
        err = take_site(reading, &raw, header->sh_addr + s * sizeof(raw));
    }
    return err;
}

/* The order of two numbers, as qsort has it. */
static int order_of(uint64_t a, uint64_t b) {
    return a < b ? -1 : a > b;
}

/* Orders sites as struct spex_object_sites has them. 0: everything about the two sites is the
 * same. */
static int site_compare(const void *left, const void *right) {
    const struct spex_object_site *a = left, *b = right;
    int by = order_of(*a->name == '\0', *b->name == '\0');
    by = by ? by : strcmp(a->name, b->name);
    by = by ? by : order_of(a->probe_id, b->probe_id);
    by = by ? by : order_of(a->probe_type, b->probe_type);
    by = by ? by : strcmp(a->file, b->file);
    by = by ? by : order_of(a->line, b->line);
    by = by ? by : order_of(a->subsample, b->subsample);
    by = by ? by : order_of(a->region, b->region);
    by = by ? by : order_of(a->detail, b->detail);
    return by ? by : strcmp(a->parameters ? a->parameters : "", b->parameters ? b->parameters : "");
}

/* Frees the texts of a site; its place in the array stays. */
static void site_free(struct spex_object_site *site) {
    free(site->file);
    free(site->parameters);
}

/* Sorts the sites, and merges equal ones. */
static void sites_merge(struct spex_object_sites *sites) {
    size_t kept = 0;
    if (sites->count > 1)
        qsort(sites->items, sites->count, sizeof(*sites->items), site_compare);
    for (size_t s = 0; s < sites->count; s++) {
        if (kept && site_compare(&sites->items[kept - 1], &sites->items[s]) == 0) {
            sites->items[kept - 1].copies++;
            site_free(&sites->items[s]);
        } else {
            sites->items[kept++] = sites->items[s];
        }
    }
    sites->count = kept;
}

static int take_functions(struct reading *reading, const GElf_Shdr *header, const void *entries,
                          size_t count) {
    (void)header;
    (void)entries;
    reading->sites->functions = count > 0;
    return 0;
}

/* Reads the names first: sites refer to them by their ids. */
static int object_read(struct reading *reading) {
    if (reading->file->header.e_shoff == 0)
        return spex_fail(reading->error, -ENOTSUP,
                         "%s has no section table, by which its probes are found",
                         reading->file->name);
    int err = read_sections(reading, "spex_names", sizeof(struct spex_probe_name),
                            SPEX_OBJECT_NAMES_MAX, take_names);
    if (!err)
        err = read_sections(reading, "spex_sites", sizeof(struct spex_site), SPEX_OBJECT_SITES_MAX,
                            take_sites);
    if (!err)
        err = read_sections(reading, SPEX_FUNCTIONS_NOTE, sizeof(struct spex_functions_note),
                            SPEX_OBJECT_NOTES_MAX, take_functions);
    return err;
}

/* The state is allocated because its table of names has 256 KiB. */
int spex_object_sites_read(int fd, const char *name, struct spex_object_sites *sites,
                           struct spex_error *error) {
    struct spex_elf_file file;
    *sites = (struct spex_object_sites){.items = NULL};
    set_provider_by_path(sites, name);
    int err = spex_elf_file_open(fd, name, &file, error);
    if (err)
        return err;
    struct reading *reading = calloc(1, sizeof(*reading));
    if (reading) {
        reading->file = &file;
        reading->sites = sites;
        reading->error = error;
        err = object_read(reading);
        free(reading->names);
        free(reading);
    } else {
        err = spex_fail(error, -ENOMEM, "out of memory");
    }
    spex_elf_file_close(&file);
    if (err)
        spex_object_sites_free(sites);
    else
        sites_merge(sites);
    spex_make_printable(sites->provider);
    return err;
}

void spex_object_sites_free(struct spex_object_sites *sites) {
    for (size_t s = 0; s < sites->count; s++)
        site_free(&sites->items[s]);
    free(sites->items);
    *sites = (struct spex_object_sites){.items = NULL};
}
