/* SPDX-License-Identifier: MIT */
/* A page of code with a breakpoint is no longer the file's, which the kernel tells without reading it. Where nothing but
 * breakpoints differs, and the program would not survive any that is not the kernel's, each is set again and removed: the kernel
 * puts the file's instruction back, unless somebody else has one there. */
#define _GNU_SOURCE
#include "attach/leftovers.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/objects/mapped_objects.h"

/* Pages that differ at most; what /proc/PID/pagemap has of one that is there, and one that is a file's. */
enum { PAGES_MOST = 1 << 12, PAGE_BYTES_MOST = 1 << 16, ENTRIES = 512 };
static const uint64_t page_present = UINT64_C(1) << 63, page_of_file = UINT64_C(1) << 61;

#ifdef __x86_64__
static const uint8_t breakpoint = 0xcc;
#else
/* Breakpoints have more bytes than one: none is looked for. */
static const uint8_t breakpoint = 0;
#endif

struct page {
    uint64_t address, offset;
};

struct leftovers {
    const struct spex_program *program;
    const struct spex_kind_of_site *kind;
    struct spex_sites *sites;
    size_t page_bytes;
    struct page pages[PAGES_MOST];
    size_t count, removed;
    uint8_t there[PAGE_BYTES_MOST], expected[PAGE_BYTES_MOST];
};

static void add_pages(struct leftovers *leftovers, int pagemap, struct page first, uint64_t end) {
    uint64_t entries[ENTRIES];
    for (uint64_t at = first.address; at < end;) {
        uint64_t left = (end - at) / leftovers->page_bytes;
        size_t wanted = left < ENTRIES ? (size_t)left : ENTRIES;
        ssize_t got = pread(pagemap, entries, wanted * sizeof(entries[0]),
                            (off_t)(at / leftovers->page_bytes * sizeof(entries[0])));
        if (got < (ssize_t)sizeof(entries[0]))
            return;
        for (size_t e = 0; e < (size_t)got / sizeof(entries[0]); e++, at += leftovers->page_bytes)
            if ((entries[e] & page_present) && !(entries[e] & page_of_file) &&
                leftovers->count < PAGES_MOST)
                leftovers->pages[leftovers->count++] =
                    (struct page){at, first.offset + (at - first.address)};
    }
}

/* Pages of code that are not their files' any more. */
static void find_pages(struct leftovers *leftovers) {
    char path[64], *line = NULL;
    size_t room = 0;
    snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)leftovers->program->thread);
    int pagemap = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)leftovers->program->thread);
    FILE *maps = fopen(path, "re");
    while (pagemap >= 0 && maps && getline(&line, &room, maps) > 0) {
        unsigned long start, end, offset;
        char rights[5] = "";
        if (sscanf(line, "%lx-%lx %4s %lx", /* NOLINT(cert-err34-c): the kernel's */
                   &start, &end, rights, &offset) == 4 &&
            strcmp(rights, "r-xp") == 0 && strchr(line, '/'))
            add_pages(leftovers, pagemap, (struct page){start, offset}, end);
    }
    free(line);
    if (maps)
        fclose(maps);
    if (pagemap >= 0)
        close(pagemap);
}

/* Sets breakpoints and removes them; one by one, where the kernel does not have them together. */
static void set_and_remove(struct leftovers *leftovers, const struct spex_instruction_site *list,
                           unsigned count) {
    const struct spex_kind_of_site *kind = leftovers->kind;
    size_t first = SPEX_SITES_MAX - SPEX_SITES_TOGETHER_MAX;
    struct spex_error error;
    if (kind->switch_on(leftovers->sites, first, list, count, &error) == 0)
        kind->switch_off(leftovers->sites, first, NULL, NULL);
    else
        for (unsigned s = 0; count > 1 && s < count; s++)
            set_and_remove(leftovers, &list[s], 1);
}

/* How many there are in a page of which nothing else is changed, and the first ones. */
static unsigned find_in_page(const struct leftovers *leftovers, const struct page *page, int fd,
                             struct spex_instruction_site *list) {
    unsigned found = 0;
    for (size_t at = 0; at < leftovers->page_bytes; at++) {
        if (leftovers->there[at] == leftovers->expected[at])
            continue;
        if (leftovers->there[at] != breakpoint)
            return 0;
        if (found < SPEX_SITES_TOGETHER_MAX)
            list[found++] = (struct spex_instruction_site){.fd = fd, .offset = page->offset + at};
    }
    return found;
}

static unsigned read_page(struct leftovers *leftovers, const struct page *page, int fd,
                          struct spex_instruction_site *list) {
    size_t bytes = leftovers->page_bytes;
    memset(leftovers->expected, 0, bytes);
    if (spex_program_read(leftovers->program, page->address, leftovers->there, bytes) != bytes ||
        pread(fd, leftovers->expected, bytes, (off_t)page->offset) <= 0)
        return 0;
    return find_in_page(leftovers, page, fd, list);
}

static void clean_page(struct leftovers *leftovers, const struct page *page, int fd) {
    struct spex_instruction_site list[SPEX_SITES_TOGETHER_MAX];
    unsigned before = read_page(leftovers, page, fd, list);
    if (!before)
        return;
    set_and_remove(leftovers, list, before);
    unsigned after = read_page(leftovers, page, fd, list);
    leftovers->removed += before > after ? before - after : 0;
}

/* For spex_mapped_objects_visit. */
static void clean_file(void *user, const char *path, int fd, const char *unreadable) {
    struct leftovers *leftovers = user;
    uint64_t address;
    (void)path;
    (void)unreadable;
    for (size_t p = 0; fd >= 0 && p < leftovers->count; p++) {
        const struct page *page = &leftovers->pages[p];
        if (spex_mapped_object_address(leftovers->program->thread, fd, page->offset, &address) ==
                0 &&
            address == page->address)
            clean_page(leftovers, page, fd);
    }
}

size_t spex_leftovers_remove(const struct spex_program *program,
                             const struct spex_kind_of_site *kind, struct spex_sites *sites) {
    struct leftovers *leftovers = calloc(1, sizeof(*leftovers));
    struct spex_error error;
    if (!leftovers)
        return 0;
    leftovers->program = program;
    leftovers->kind = kind;
    leftovers->sites = sites;
    leftovers->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (breakpoint && leftovers->page_bytes <= PAGE_BYTES_MOST &&
        !spex_program_handles_traps(program))
        find_pages(leftovers);
    if (leftovers->count)
        spex_mapped_objects_visit(program->thread, clean_file, leftovers, &error);
    size_t removed = leftovers->removed;
    free(leftovers);
    return removed;
}
