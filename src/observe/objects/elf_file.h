/* SPDX-License-Identifier: MIT */
/* Opens a linked ELF object for reading. The file may come from anyone: whatever it says of
 * itself is checked before it is used. */
#ifndef SPEX_OBSERVE_OBJECTS_ELF_FILE_H
#define SPEX_OBSERVE_OBJECTS_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elf.h>
#include <libelf.h>

#include "text/error.h"

struct spex_elf_file {
    int fd;
    Elf *elf;
    /* The name of the file in messages. */
    const char *name;
    Elf64_Ehdr header;
    /* Length of the file. */
    uint64_t bytes;
    size_t segment_count;
    Elf64_Phdr *segments;
};

/* A descriptor of the regular file at `path`. Other kinds of files are not opened, since
 * opening a pipe blocks and opening a device may have effects. -EISDIR or -EINVAL for those, or
 * what open has failed with. */
int spex_regular_file_open(const char *path, struct spex_error *error);

/* `fd` and `name` stay the caller's, and must outlive `file`. 0; -ENOEXEC: the file is no ELF
 * object; -ENOTSUP: it is not for 64 bits and little endian, or is not linked; -EINVAL: it is
 * malformed; -ENOMEM; or what reading has failed with. */
int spex_elf_file_open(int fd, const char *name, struct spex_elf_file *file,
                       struct spex_error *error);
void spex_elf_file_close(struct spex_elf_file *file);

/* Reads the bytes from an address on, as they are when the object is loaded: up to `room`, and
 * up to the end of the part of the segment that is in the file. Returns how many; 0 when the
 * address is in no segment. */
size_t spex_elf_file_at(const struct spex_elf_file *file, uint64_t address, void *bytes,
                        size_t room);

/* Finds the section with the names of sections. 0 or -EINVAL. */
int spex_elf_file_section_names(const struct spex_elf_file *file, size_t *index,
                                struct spex_error *error);

/* The address of the first allocated section of this name, as the object is linked; 0: there is
 * none. */
uint64_t spex_elf_file_section_address(const struct spex_elf_file *file, const char *wanted);

#endif
