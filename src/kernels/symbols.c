/* SPDX-License-Identifier: MIT */
/* Finds the tables by the section headers: nothing else in a file leads to the table of all
 * symbols. The file is mapped, so that only the pages of its tables are read. */
#include "kernels/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"

#if __ELF_NATIVE_CLASS == 64
enum { ELF_CLASS = ELFCLASS64 };
#else
enum { ELF_CLASS = ELFCLASS32 };
#endif

/* Maps a regular file of at least the size of a header. 0 or a negative errno value. */
static int symbols_map(struct spex_symbols *symbols, const char *path) {
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    struct spex_descriptor file = spex_descriptor_brief(fd);
    int err = spex_descriptor_is_at(&file, AT_FDCWD, path, true) ? 0 : -EBADF;
    err = err ? err : fstat(file.number, &status) < 0 ? -errno : 0;
    if (!err && (!S_ISREG(status.st_mode) || (size_t)status.st_size < sizeof(ElfW(Ehdr))))
        err = -ENOEXEC;
    if (!err) {
        symbols->bytes = (size_t)status.st_size;
        symbols->map = mmap(NULL, symbols->bytes, PROT_READ, MAP_PRIVATE, file.number, 0);
        err = symbols->map == MAP_FAILED ? -errno : 0;
    }
    spex_descriptor_close(&file);
    if (err)
        symbols->map = NULL;
    return err;
}

/* A part of the mapped file; NULL: it lies outside of the file or is not aligned. */
static const void *file_part(const struct spex_symbols *symbols, uint64_t offset, uint64_t bytes,
                             size_t alignment) {
    if (offset > symbols->bytes || bytes > symbols->bytes - offset || offset % alignment)
        return NULL;
    return (const char *)symbols->map + offset;
}

/* The table of sections; NULL: the file is of another class or byte order, or damaged. */
static const ElfW(Shdr) * file_sections(const struct spex_symbols *symbols, size_t *count) {
    const ElfW(Ehdr) *header = symbols->map;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELF_CLASS ||
        header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_shentsize != sizeof(ElfW(Shdr)))
        return NULL;
    *count = header->e_shnum;
    return file_part(symbols, header->e_shoff, *count * sizeof(ElfW(Shdr)), _Alignof(ElfW(Shdr)));
}

/* Finds the first table of this type and the names that belong to it. The names must end in a 0,
 * so that any of them can be used as a string. */
static int symbols_find_table(struct spex_symbols *symbols, uint32_t type) {
    size_t count;
    const ElfW(Shdr) *all = file_sections(symbols, &count), *table = NULL;
    if (!all)
        return -ENOEXEC;
    for (size_t s = 0; s < count && !table; s++)
        if (all[s].sh_type == type)
            table = &all[s];
    if (!table)
        return -ENOENT;
    if (table->sh_link >= count || table->sh_entsize != sizeof(ElfW(Sym)))
        return -ENOEXEC;
    const ElfW(Shdr) *names = &all[table->sh_link];
    symbols->count = table->sh_size / sizeof(ElfW(Sym));
    symbols->symbols = file_part(symbols, table->sh_offset, table->sh_size, _Alignof(ElfW(Sym)));
    symbols->names_bytes = names->sh_size;
    symbols->names = file_part(symbols, names->sh_offset, names->sh_size, 1);
    bool sound = symbols->symbols && symbols->names && symbols->names_bytes > 0 &&
                 symbols->names[symbols->names_bytes - 1] == '\0';
    return sound ? 0 : -ENOEXEC;
}

/* After a failure nothing is left to close. */
int spex_symbols_open(struct spex_symbols *symbols, const char *path, uint32_t type) {
    *symbols = (struct spex_symbols){.map = NULL};
    int err = symbols_map(symbols, path);
    err = err ? err : symbols_find_table(symbols, type);
    if (err)
        spex_symbols_close(symbols);
    return err;
}

void spex_symbols_close(struct spex_symbols *symbols) {
    if (symbols->map)
        munmap(symbols->map, symbols->bytes);
    *symbols = (struct spex_symbols){.map = NULL};
}

/* The table of names ends in a 0, so every name in it does. */
const char *spex_symbol_name(const struct spex_symbols *symbols, const ElfW(Sym) * symbol) {
    return symbol->st_name < symbols->names_bytes ? symbols->names + symbol->st_name : "";
}

bool spex_symbols_refer_to(const struct spex_symbols *symbols, const char *name) {
    for (size_t s = 0; s < symbols->count; s++)
        if (symbols->symbols[s].st_shndx == SHN_UNDEF &&
            strcmp(spex_symbol_name(symbols, &symbols->symbols[s]), name) == 0)
            return true;
    return false;
}
