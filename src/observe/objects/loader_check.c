/* SPDX-License-Identifier: MIT */
/* Checks an object before the loader maps it to list its libraries. An object passes when it is
 * for this machine and this loader, when its segments can only be mapped to memory that the
 * loader reserves for them, and when its dynamic section, read where the loader will read it,
 * names no auditor. */
#define _GNU_SOURCE
#include "observe/objects/loader_check.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Programs of a fixed address are linked below this. The loader, the stack and the other
 * mappings of a process are above. */
#define FIXED_ADDRESSES_END (UINT64_C(1) << 32)

/* The first object of dl_iterate_phdr is the program itself; its segment PT_INTERP has the path
 * of the loader. */
static int find_interpreter(struct dl_phdr_info *info, size_t size, void *found) {
    (void)size;
    for (int s = 0; s < info->dlpi_phnum; s++)
        if (info->dlpi_phdr[s].p_type == PT_INTERP)
            *(const char **)found = (const char *)(info->dlpi_addr + info->dlpi_phdr[s].p_vaddr);
    return 1;
}

const char *spex_loader_path(void) {
    const char *path = NULL;
    dl_iterate_phdr(find_interpreter, &path);
    return path;
}

/* The architecture that this file is compiled for. */
static Elf64_Half own_machine(void) {
#if defined(__x86_64__)
    return EM_X86_64;
#elif defined(__aarch64__)
    return EM_AARCH64;
#endif
}

/* The last segment of the type, and how many there are. */
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

/* Whether both paths lead to one file, by device and inode: the loader has several names on many
 * systems. */
static bool same_file(const char *a, const char *b) {
    struct stat first, second;
    return strcmp(a, b) == 0 || (stat(a, &first) == 0 && stat(b, &second) == 0 &&
                                 first.st_dev == second.st_dev && first.st_ino == second.st_ino);
}

/* Whether the object names the loader that this process uses, or no loader, as shared libraries
 * do. */
static int check_interpreter(const struct spex_elf_file *file, struct spex_error *error) {
    size_t count;
    const Elf64_Phdr *segment = segment_of_type(file, PT_INTERP, &count);
    char path[PATH_MAX];
    if (!segment)
        return 0;
    ssize_t got = pread(file->fd, path, sizeof(path), (off_t)segment->p_offset);
    if (got <= 0 || !memchr(path, '\0', (size_t)got))
        return spex_fail(error, -ENOTSUP, "the name of its loader cannot be read");
    if (!same_file(path, spex_loader_path()))
        return spex_fail(error, -ENOTSUP, "it is for another loader, %.200s", path);
    return 0;
}

/* Whether `next` is loaded after `before`, and on other pages. */
static bool segment_is_after(const Elf64_Phdr *before, const Elf64_Phdr *next, uint64_t page) {
    uint64_t end;
    return !__builtin_add_overflow(before->p_vaddr, before->p_memsz, &end) &&
           end <= UINT64_MAX - page && next->p_vaddr / page >= (end + page - 1) / page;
}

/* Whether the segments are in ascending order on pages of their own, as every linker makes
 * them. The loader then maps them within the memory that it has reserved for the object, and no
 * segment covers the bytes of another that were checked. */
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
            (before && !segment_is_after(before, segment, page)))
            return false;
        before = segment;
    }
    return before != NULL;
}

/* Reads the entries at the addresses where the loader will read them, up to DT_NULL. */
static int check_dynamic_section(const struct spex_elf_file *file, const Elf64_Phdr *dynamic,
                                 struct spex_error *error) {
    Elf64_Dyn entry;
    for (uint64_t address = dynamic->p_vaddr;; address += sizeof(entry)) {
        if (spex_elf_file_at(file, address, &entry, sizeof(entry)) != sizeof(entry))
            return spex_fail(error, -ENOTSUP, "its dynamic section is malformed");
        if (entry.d_tag == DT_NULL)
            return 0;
        if (entry.d_tag == DT_AUDIT || entry.d_tag == DT_DEPAUDIT)
            return spex_fail(error, -ENOTSUP, "it names an auditor, which the loader would run");
    }
}

int spex_loader_check(const struct spex_elf_file *file, struct spex_error *error) {
    size_t dynamic_count;
    const Elf64_Phdr *dynamic = segment_of_type(file, PT_DYNAMIC, &dynamic_count);
    if (file->header.e_machine != own_machine())
        return spex_fail(error, -ENOTSUP, "it is for another processor");
    if (dynamic_count == 0)
        return spex_fail(error, -ENOTSUP, "it is linked statically");
    if (!spex_loader_path())
        return spex_fail(error, -ENOTSUP, "this spex is linked statically and knows no loader");
    if (dynamic_count > 1 || !segments_are_orderly(file))
        return spex_fail(error, -ENOTSUP, "its segments are not laid out as linkers do it");
    int err = check_interpreter(file, error);
    return err ? err : check_dynamic_section(file, dynamic, error);
}
