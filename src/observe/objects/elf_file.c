/* SPDX-License-Identifier: MIT */
/* Opens ELF files with libelf. libelf trusts the header of a file in places, so that the
 * header, the tables it points to and the program headers are checked here first, from bytes
 * that pread returns. */
#include "observe/objects/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gelf.h>

/* Linkers make about a dozen segments. */
enum { SEGMENTS_MAX = 1024, SECTION_NAMES_BYTES_MAX = 1 << 24 };

/* The kind is asked of the path before opening. O_NONBLOCK keeps the opening from waiting if the
 * path leads to a pipe by then. */
int spex_regular_file_open(const char *path, struct spex_error *error) {
    struct stat status;
    if (stat(path, &status) != 0)
        return spex_fail(error, -errno, "%s: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return spex_fail(error, -EISDIR, "%s is a directory", path);
    if (!S_ISREG(status.st_mode))
        return spex_fail(error, -EINVAL, "%s is not a regular file", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return spex_fail(error, -errno, "%s cannot be read: %s", path, strerror(errno));
    return fd;
}

/* The message for a file that is no ELF object. It names the interpreter of a script, since the
 * user may have meant the probes of that. */
static int fail_other_format(const struct spex_elf_file *file, struct spex_error *error) {
    char line[128] = "";
    ssize_t got = pread(file->fd, line, sizeof(line) - 1, 0);
    if (got < 2 || memcmp(line, "#!", 2) != 0)
        return spex_fail(error, -ENOEXEC, "%s is not an ELF program", file->name);
    char *interpreter = line + 2 + strspn(line + 2, " \t");
    interpreter[strcspn(interpreter, "\r\n")] = '\0';
    return spex_fail(error, -ENOEXEC,
                     "%s is not an ELF program: it looks like a script that %s runs", file->name,
                     *interpreter ? interpreter : "/bin/sh");
}

/* Only e_ident: the rest of the header has another layout in other classes. */
static int header_check_identity(const struct spex_elf_file *file, struct spex_error *error) {
    const unsigned char *identity = file->header.e_ident;
    if (memcmp(identity, ELFMAG, SELFMAG) != 0)
        return fail_other_format(file, error);
    if (identity[EI_CLASS] != ELFCLASS64)
        return spex_fail(error, -ENOTSUP, "%s is not a 64-bit program; probes are in no others",
                         file->name);
    if (identity[EI_DATA] != ELFDATA2LSB)
        return spex_fail(error, -ENOTSUP,
                         "%s is a big-endian program; probes are in little-endian ones alone",
                         file->name);
    return 0;
}

/* Whether a table of `count` entries lies within the file, without overflow. */
static bool table_is_in_file(const struct spex_elf_file *file, uint64_t offset, uint64_t count,
                             uint64_t entry_bytes) {
    return offset <= file->bytes && count <= (file->bytes - offset) / entry_bytes;
}

/* -ENOTSUP for valid files of another kind, -EINVAL for malformed ones. */
static int header_check(const struct spex_elf_file *file, struct spex_error *error) {
    const Elf64_Ehdr *header = &file->header;
    if (header->e_type == ET_REL)
        return spex_fail(error, -ENOTSUP, "%s has not been linked yet", file->name);
    if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
        return spex_fail(error, -ENOTSUP, "%s is neither a program nor a shared library",
                         file->name);
    if (header->e_ident[EI_VERSION] != EV_CURRENT ||
        (header->e_phnum && header->e_phentsize != sizeof(Elf64_Phdr)) ||
        (header->e_shnum && header->e_shentsize != sizeof(Elf64_Shdr)))
        return spex_fail(error, -EINVAL, "%s has a malformed ELF header", file->name);
    /* With more sections than 16 bits can count, e_shnum is 0. */
    if (header->e_shoff && header->e_shnum == 0)
        return spex_fail(error, -EINVAL, "%s has more sections than linked files have", file->name);
    if (header->e_phnum > SEGMENTS_MAX)
        return spex_fail(error, -EINVAL, "%s has %u segments; %d at most were expected", file->name,
                         header->e_phnum, SEGMENTS_MAX);
    if (!table_is_in_file(file, header->e_phoff, header->e_phnum, sizeof(Elf64_Phdr)) ||
        !table_is_in_file(file, header->e_shoff, header->e_shnum, sizeof(Elf64_Shdr)))
        return spex_fail(error, -EINVAL, "%s is truncated: its ELF header points beyond its end",
                         file->name);
    return 0;
}

/* A file of a few bytes can be a script, so that its identity is checked before its length. */
static int header_read(struct spex_elf_file *file, struct spex_error *error) {
    struct stat status;
    ssize_t got = pread(file->fd, &file->header, sizeof(file->header), 0);
    if (got < 0 || fstat(file->fd, &status) != 0)
        return spex_fail(error, -errno, "%s cannot be read: %s", file->name, strerror(errno));
    file->bytes = (uint64_t)status.st_size;
    if (got > EI_DATA) {
        int err = header_check_identity(file, error);
        if (err)
            return err;
    } else {
        return fail_other_format(file, error);
    }
    if (got != sizeof(file->header))
        return spex_fail(error, -EINVAL, "%s is truncated: it ends within its ELF header",
                         file->name);
    return header_check(file, error);
}

/* The table is within the file: header_check. */
static int segments_read(struct spex_elf_file *file, struct spex_error *error) {
    size_t bytes = file->header.e_phnum * sizeof(Elf64_Phdr);
    file->segments = malloc(bytes ? bytes : 1);
    if (!file->segments)
        return spex_fail(error, -ENOMEM, "out of memory");
    ssize_t got = pread(file->fd, file->segments, bytes, (off_t)file->header.e_phoff);
    if (got < 0 || (size_t)got != bytes)
        return spex_fail(error, -EINVAL, "%s cannot be read: its program headers are missing",
                         file->name);
    file->segment_count = file->header.e_phnum;
    return 0;
}

/* The file is read, not mapped: access to a mapped file that becomes shorter raises SIGBUS. */
int spex_elf_file_open(int fd, const char *name, struct spex_elf_file *file,
                       struct spex_error *error) {
    *file = (struct spex_elf_file){.fd = fd, .name = name};
    int err = header_read(file, error);
    if (!err)
        err = segments_read(file, error);
    if (!err &&
        (elf_version(EV_CURRENT) == EV_NONE || !(file->elf = elf_begin(fd, ELF_C_READ, NULL)) ||
         elf_kind(file->elf) != ELF_K_ELF))
        err = spex_fail(error, -EINVAL, "%s cannot be read: %s", name, elf_errmsg(-1));
    if (err)
        spex_elf_file_close(file);
    return err;
}

void spex_elf_file_close(struct spex_elf_file *file) {
    elf_end(file->elf);
    free(file->segments);
    file->elf = NULL;
    file->segments = NULL;
    file->segment_count = 0;
}

/* Finds the loadable segment that has the address. The part of a segment beyond p_filesz is
 * zeroed memory, which the file does not have. */
size_t spex_elf_file_at(const struct spex_elf_file *file, uint64_t address, void *bytes,
                        size_t room) {
    for (size_t s = 0; s < file->segment_count; s++) {
        const Elf64_Phdr *segment = &file->segments[s];
        uint64_t into = address - segment->p_vaddr;
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr || into >= segment->p_filesz)
            continue;
        uint64_t left = segment->p_filesz - into;
        if (segment->p_offset > file->bytes || into > file->bytes - segment->p_offset)
            return 0;
        ssize_t got =
            pread(file->fd, bytes, left < room ? left : room, (off_t)(segment->p_offset + into));
        return got < 0 ? 0 : (size_t)got;
    }
    return 0;
}

/* The size is checked because libelf reads all of it. */
int spex_elf_file_section_names(const struct spex_elf_file *file, size_t *index,
                                struct spex_error *error) {
    GElf_Shdr header;
    if (elf_getshdrstrndx(file->elf, index) != 0 ||
        !gelf_getshdr(elf_getscn(file->elf, *index), &header) || header.sh_type != SHT_STRTAB ||
        (header.sh_flags & SHF_COMPRESSED) || header.sh_size > SECTION_NAMES_BYTES_MAX)
        return spex_fail(error, -EINVAL, "%s is malformed: its sections have no names", file->name);
    return 0;
}

uint64_t spex_elf_file_section_address(const struct spex_elf_file *file, const char *wanted) {
    struct spex_error error;
    size_t names;
    if (spex_elf_file_section_names(file, &names, &error) != 0)
        return 0;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC))
            continue;
        const char *name = elf_strptr(file->elf, names, header.sh_name);
        if (name && strcmp(name, wanted) == 0)
            return header.sh_addr;
    }
    return 0;
}
