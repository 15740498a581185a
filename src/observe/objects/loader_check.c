/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "observe/objects/loader_check.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Programs of a fixed address are linked to below this; loaders, stacks and all that a process has
 * otherwise lie above it. */
#define FIXED_ADDRESSES_END (UINT64_C(1) << 32)

static int find_interpreter(struct dl_phdr_info *info, size_t size, void *found) {
    (void)size;
    for (int s = 0; s < info->dlpi_phnum; s++)
        if (info->dlpi_phdr[s].p_type == PT_INTERP)
            *(const char **)found = (const char *)(info->dlpi_addr + info->dlpi_phdr[s].p_vaddr);
    return 1; /* the first is this program */
}

const char *spex_loader_path(void) {
    const char *path = NULL;
    dl_iterate_phdr(find_interpreter, &path);
    return path;
}

/* The architecture of this very code. */
static Elf64_Half own_machine(void) {
#if defined(__x86_64__)
    return EM_X86_64;
#elif defined(__aarch64__)
    return EM_AARCH64;
#endif
}

static const Elf64_Phdr *segment_of_type(const struct spex_elf_file *file, uint32_t type,
                                         size_t *count) {
    const Elf64_Phdr *found = NULL;
    *count = 0;
    for (size_t s = 0; s < file->segment_count; s++)
        if (file->segments[s].p_type == type) {
            found = &file->segments[s];
            ++*count;
        }
    return found;
}

static bool same_file(const char *a, const char *b) {
    struct stat first, second;
    return strcmp(a, b) == 0 || (stat(a, &first) == 0 && stat(b, &second) == 0 &&
                                 first.st_dev == second.st_dev && first.st_ino == second.st_ino);
}

/* A shared library names no loader. */
static int check_interpreter(const struct spex_elf_file *file, struct spex_error *why) {
    size_t count;
    const Elf64_Phdr *segment = segment_of_type(file, PT_INTERP, &count);
    char path[PATH_MAX];
    if (!segment)
        return 0;
    ssize_t got = pread(file->fd, path, sizeof(path), (off_t)segment->p_offset);
    if (got <= 0 || !memchr(path, '\0', (size_t)got))
        return spex_fail(why, -ENOTSUP, "the name of its loader cannot be read");
    if (!same_file(path, spex_loader_path()))
        return spex_fail(why, -ENOTSUP, "it is for another loader, %.200s", path);
    return 0;
}

/* Whether `next` is loaded behind `before`, on other pages. */
static bool is_behind(const Elf64_Phdr *before, const Elf64_Phdr *next, uint64_t page) {
    uint64_t end;
    return !__builtin_add_overflow(before->p_vaddr, before->p_memsz, &end) &&
           end <= UINT64_MAX - page && next->p_vaddr / page >= (end + page - 1) / page;
}

/* Segments that lie one behind another, as every linker makes them, are loaded within the room that the
 * loader has found for them, and their bytes are those that we see. */
static bool segments_are_orderly(const struct spex_elf_file *file) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const Elf64_Phdr *before = NULL;
    for (size_t s = 0; s < file->segment_count; s++) {
        const Elf64_Phdr *segment = &file->segments[s];
        uint64_t end;
        if (segment->p_type != PT_LOAD)
            continue;
        if (__builtin_add_overflow(segment->p_vaddr, segment->p_memsz, &end) ||
            segment->p_filesz > segment->p_memsz ||
            segment->p_vaddr % page != segment->p_offset % page ||
            (file->header.e_type == ET_EXEC && end > FIXED_ADDRESSES_END) ||
            (before && !is_behind(before, segment, page)))
            return false;
        before = segment;
    }
    return before != NULL;
}

/* Reads the entries from where the loader will, up to the one that ends them. */
static int check_dynamic_section(const struct spex_elf_file *file, const Elf64_Phdr *dynamic,
                                 struct spex_error *why) {
    Elf64_Dyn entry;
    for (uint64_t address = dynamic->p_vaddr;; address += sizeof(entry)) {
        if (spex_elf_file_at(file, address, &entry, sizeof(entry)) != sizeof(entry))
            return spex_fail(why, -ENOTSUP, "its dynamic section is malformed");
        if (entry.d_tag == DT_NULL)
            return 0;
        if (entry.d_tag == DT_AUDIT || entry.d_tag == DT_DEPAUDIT)
            return spex_fail(why, -ENOTSUP, "it names an auditor, which the loader would run");
    }
}

int spex_loader_check(const struct spex_elf_file *file, struct spex_error *why) {
    size_t dynamic_count;
    const Elf64_Phdr *dynamic = segment_of_type(file, PT_DYNAMIC, &dynamic_count);
    if (file->header.e_machine != own_machine())
        return spex_fail(why, -ENOTSUP, "it is for another processor");
    if (dynamic_count == 0)
        return spex_fail(why, -ENOTSUP, "it is linked statically");
    if (!spex_loader_path())
        return spex_fail(why, -ENOTSUP, "this spex is linked statically and knows no loader");
    if (dynamic_count > 1 || !segments_are_orderly(file))
        return spex_fail(why, -ENOTSUP, "its segments are not laid out as linkers do it");
    int err = check_interpreter(file, why);
    return err ? err : check_dynamic_section(file, dynamic, why);
}
