/* SPDX-License-Identifier: MIT */
#include "attach/tasks/program_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int spex_program_memory_open(struct spex_program_memory *memory, pid_t process,
                             void (*put_back)(void *left), void *left, struct spex_error *error) {
    char path[64];
    if (memory->opened)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)process);
    memory->fd = open(path, O_RDWR | O_CLOEXEC);
    if (memory->fd < 0)
        return spex_fail(error, -errno, "its memory may not be written: %s", strerror(errno));
    spex_beside_open_for(&memory->beside, put_back, left, memory->fd);
    memory->opened = true;
    if (memory->beside.process)
        return 0;
    spex_program_memory_close(memory);
    return spex_fail(error, -EAGAIN, "there is no room for a process");
}

void spex_program_memory_close(struct spex_program_memory *memory) {
    if (!memory->opened)
        return;
    spex_beside_close(&memory->beside);
    close(memory->fd);
    memory->opened = false;
}

double spex_program_memory_used(const struct spex_program_memory *memory) {
    return memory->opened ? spex_beside_used(&memory->beside) : 0;
}
