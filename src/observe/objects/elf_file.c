/* SPDX-License-Identifier: MIT */
#include "observe/objects/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Linkers make about a dozen. */
enum { SEGMENTS_MAX = 1024 };

int spex_regular_file_open(const char *path, struct spex_error *why) {
    struct stat status;
    if (stat(path, &status) != 0)
        return spex_fail(why, -errno, "%s: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return spex_fail(why, -EISDIR, "%s is a directory", path);
    if (!S_ISREG(status.st_mode))
        return spex_fail(why, -EINVAL, "%s is not a regular file", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return spex_fail(why, -errno, "%s cannot be read: %s", path, strerror(errno));
    return fd;
}

/* What is no ELF object may be a script, whose user meant its interpreter. */
static int refuse_other_format(const struct spex_elf_file *file, struct spex_error *why) {
    char line[128] = "";
    ssize_t got = pread(file->fd, line, sizeof(line) - 1, 0);
    if (got < 2 || memcmp(line, "#!", 2) != 0)
        return spex_fail(why, -ENOEXEC, "%s is not an ELF program", file->name);
    char *interpreter = line + 2 + strspn(line + 2, " \t");
    interpreter[strcspn(interpreter, "\r\n")] = '\0';
    return spex_fail(why, -ENOEXEC, "%s is not an ELF program: it looks like a script that %s runs",
                     file->name, *interpreter ? interpreter : "/bin/sh");
}

static int check_identity(const struct spex_elf_file *file, struct spex_error *why) {
    const unsigned char *identity = file->header.e_ident;
    if (memcmp(identity, ELFMAG, SELFMAG) != 0)
        return refuse_other_format(file, why);
    if (identity[EI_CLASS] != ELFCLASS64)
        return spex_fail(why, -ENOTSUP, "%s is not a 64-bit program; probes are in no others",
                         file->name);
    if (identity[EI_DATA] != ELFDATA2LSB)
        return spex_fail(why, -ENOTSUP,
                         "%s is a big-endian program; probes are in little-endian ones alone",
                         file->name);
    return 0;
}

static bool table_fits(const struct spex_elf_file *file, uint64_t offset, uint64_t count,
                       uint64_t entry_bytes) {
    return offset <= file->bytes && count <= (file->bytes - offset) / entry_bytes;
}

static int check_header(const struct spex_elf_file *file, struct spex_error *why) {
    const Elf64_Ehdr *header = &file->header;
    if (header->e_type == ET_REL)
        return spex_fail(why, -ENOTSUP, "%s has not been linked yet", file->name);
    if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
        return spex_fail(why, -ENOTSUP, "%s is neither a program nor a shared library", file->name);
    if (header->e_ident[EI_VERSION] != EV_CURRENT ||
        (header->e_phnum && header->e_phentsize != sizeof(Elf64_Phdr)) ||
        (header->e_shnum && header->e_shentsize != sizeof(Elf64_Shdr)))
        return spex_fail(why, -EINVAL, "%s has a malformed ELF header", file->name);
    if (header->e_shoff && header->e_shnum == 0) /* the form for more sections than 16 bits count */
        return spex_fail(why, -EINVAL, "%s has more sections than linked files have", file->name);
    if (header->e_phnum > SEGMENTS_MAX)
        return spex_fail(why, -EINVAL, "%s has %u segments; %d at most were expected", file->name,
                         header->e_phnum, SEGMENTS_MAX);
    if (!table_fits(file, header->e_phoff, header->e_phnum, sizeof(Elf64_Phdr)) ||
        !table_fits(file, header->e_shoff, header->e_shnum, sizeof(Elf64_Shdr)))
        return spex_fail(why, -EINVAL, "%s is truncated: its ELF header points beyond its end",
                         file->name);
    return 0;
}

static int read_header(struct spex_elf_file *file, struct spex_error *why) {
    struct stat status;
    ssize_t got = pread(file->fd, &file->header, sizeof(file->header), 0);
    if (got < 0 || fstat(file->fd, &status) != 0)
        return spex_fail(why, -errno, "%s cannot be read: %s", file->name, strerror(errno));
    file->bytes = (uint64_t)status.st_size;
    if (got > EI_DATA) {
        int err = check_identity(file, why);
        if (err)
            return err;
    } else {
        return refuse_other_format(file, why);
    }
    if (got != sizeof(file->header))
        return spex_fail(why, -EINVAL, "%s is truncated: it ends within its ELF header",
                         file->name);
    return check_header(file, why);
}

static int read_segments(struct spex_elf_file *file, struct spex_error *why) {
    size_t bytes = file->header.e_phnum * sizeof(Elf64_Phdr);
    file->segments = malloc(bytes ? bytes : 1);
    if (!file->segments)
        return spex_fail(why, -ENOMEM, "out of memory");
    ssize_t got = pread(file->fd, file->segments, bytes, (off_t)file->header.e_phoff);
    if (got < 0 || (size_t)got != bytes)
        return spex_fail(why, -EINVAL, "%s cannot be read: its program headers are missing",
                         file->name);
    file->segment_count = file->header.e_phnum;
    return 0;
}

int spex_elf_file_open(int fd, const char *name, struct spex_elf_file *file,
                       struct spex_error *why) {
    *file = (struct spex_elf_file){.fd = fd, .name = name};
    int err = read_header(file, why);
    if (!err)
        err = read_segments(file, why);
    /* By reading, not by mapping: a file that becomes shorter would end us. */
    if (!err &&
        (elf_version(EV_CURRENT) == EV_NONE || !(file->elf = elf_begin(fd, ELF_C_READ, NULL)) ||
         elf_kind(file->elf) != ELF_K_ELF))
        err = spex_fail(why, -EINVAL, "%s cannot be read: %s", name, elf_errmsg(-1));
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
