/* SPDX-License-Identifier: MIT */
/* A linked ELF object, opened to be read. Its bytes may be anyone's: whatever it says of itself is
 * checked before it is used. */
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
    const char *name; /* for messages */
    Elf64_Ehdr header;
    uint64_t bytes;
    size_t segment_count;
    Elf64_Phdr *segments;
};

/* A descriptor of the regular file at `path`. -ENOENT and so on; -EISDIR or -EINVAL when it is another
 * kind of file, which is not opened, since that may block or do something. */
int spex_regular_file_open(const char *path, struct spex_error *why);

/* Reads from `fd`, which stays the caller's, as does `name`.
 * 0; -ENOEXEC: no ELF object; -ENOTSUP: one that is not for 64 bits and little endian, or is not
 * linked; -EINVAL: a malformed one; -ENOMEM; what reading failed with. */
int spex_elf_file_open(int fd, const char *name, struct spex_elf_file *file,
                       struct spex_error *why);
void spex_elf_file_close(struct spex_elf_file *file);

/* The bytes from this address on, as they are when the object is loaded, as many as the file has of the
 * segment and `room` takes; 0 when it has none. */
size_t spex_elf_file_at(const struct spex_elf_file *file, uint64_t address, void *bytes,
                        size_t room);

#endif
