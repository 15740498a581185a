/* SPDX-License-Identifier: MIT */
/* Finds the note with the build ID in the program's segments, by libelf, which checks offsets and
 * sizes against the file. Segments are used and not sections, since a stripped program may have
 * none. */
#include "explore/store/build_id.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <gelf.h>

#include "text/hexadecimal.h"

/* Leaves *id at NULL where these notes have no build ID. 0 or -ENOMEM. */
static int find_in_notes(Elf_Data *data, char **id) {
    GElf_Nhdr note;
    size_t name, description;
    for (size_t at = 0; (at = gelf_getnote(data, at, &note, &name, &description)) > 0;)
        if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz > 0 &&
            note.n_namesz == sizeof(ELF_NOTE_GNU) &&
            memcmp((char *)data->d_buf + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
            *id = spex_hexadecimal((unsigned char *)data->d_buf + description, note.n_descsz);
            return *id ? 0 : -ENOMEM;
        }
    return 0;
}

/* Notes in a segment of alignment 8 are padded to 8 bytes, others to 4. */
static int find_in_segments(Elf *elf, char **id) {
    size_t count;
    int err = 0;
    if (elf_getphdrnum(elf, &count) < 0)
        return 0;
    for (size_t s = 0; s < count && !err && !*id; s++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, (int)s, &segment) || segment.p_type != PT_NOTE)
            continue;
        Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)segment.p_offset, segment.p_filesz,
                                              segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
        err = data ? find_in_notes(data, id) : 0;
    }
    return err;
}

/* What is no ELF file, such as a script, has none. */
int spex_build_id(int fd, char **id) {
    *id = NULL;
    if (elf_version(EV_CURRENT) == EV_NONE)
        return 0;
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    int err = elf && elf_kind(elf) == ELF_K_ELF ? find_in_segments(elf, id) : 0;
    elf_end(elf);
    return err;
}
