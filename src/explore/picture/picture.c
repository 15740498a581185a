/* SPDX-License-Identifier: MIT */
/* Runs gnuplot or dot on a script in memory (memfd) and takes the picture from its output, which is
 * in memory, too. Both programs exit with 0 when they could not write all of a picture, so its end
 * is looked for. */
#define _GNU_SOURCE
#include "explore/picture/picture.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files/whole_file.h"
#include "explore/picture/picture_values.h"

/* "noenhanced" keeps gnuplot from taking "_" and "^" in names for subscripts. The name makes ids in
 * an SVG differ from those of other pictures of the same page. */
void spex_script_terminal(const struct spex_script *script, size_t width, size_t height) {
    if (script->png)
        fprintf(script->out,
                "set terminal pngcairo noenhanced size %zu,%zu background rgb 'white' "
                "font 'sans,10'\n",
                width, height);
    else
        fprintf(script->out,
                "set terminal svg noenhanced size %zu,%zu background rgb 'white' font 'sans,11' "
                "name '%s'\n",
                width, height, script->name);
}

/* gnuplot reads a doubled quote as one. Texts come from spaces and programs: control characters,
 * which could end the line and begin a command, become spaces. */
void spex_script_text(const struct spex_script *script, const char *text) {
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '\'')
            fputc(c, script->out);
        fputc(c < ' ' ? ' ' : c, script->out);
    }
}

/* A program that draws from a script. */
struct drawer {
    char *svg[3]; /* command lines that read a script and write a picture */
    char *png[3];
    const char *package; /* package of Debian */
};

/* Arrays, because posix_spawn takes texts that are not const. */
static char gnuplot[] = "gnuplot", dot[] = "dot", input[] = "-", to_svg[] = "-Tsvg",
            to_png[] = "-Tpng";
static const struct drawer plot_drawer = {{gnuplot, input}, {gnuplot, input}, "gnuplot-nox"};
static const struct drawer graph_drawer = {{dot, to_svg}, {dot, to_png}, "graphviz"};

/* The message has the first line that is not empty of what the program has written to standard
 * error. */
static int fail_drawer(const char *name, int complaints, int status, struct spex_error *error) {
    char text[256] = "";
    ssize_t length = pread(complaints, text, sizeof(text) - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    char *line = text + strspn(text, " \n");
    line[strcspn(line, "\n")] = '\0';
    return spex_fail(error, -EIO, "%s failed with %s %d: %s", name,
                     WIFSIGNALED(status) ? "signal" : "status",
                     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), line);
}

/* Runs the program with the script as standard input and the picture as standard output, and waits
 * for its end. The program is looked up in PATH. */
static int run_drawer(const struct drawer *drawer, bool png, int script, int picture,
                      struct spex_error *error) {
    char *const *argv = png ? drawer->png : drawer->svg;
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    int status = 0;
    int complaints = memfd_create("drawer-stderr", MFD_CLOEXEC);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, script, 0);
    posix_spawn_file_actions_adddup2(&actions, picture, 1);
    posix_spawn_file_actions_adddup2(&actions, complaints, 2);
    int err = complaints < 0 ? errno : posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (err == ENOENT)
        err = spex_fail(error, -ENOENT, "a picture needs %s, which is not installed (Debian: %s)",
                        argv[0], drawer->package);
    else if (err)
        err = spex_fail(error, -err, "cannot run %s: %s", argv[0], strerror(err));
    else if (waitpid(pid, &status, 0) != pid || status != 0)
        err = fail_drawer(argv[0], complaints, status, error);
    if (complaints >= 0)
        close(complaints);
    return err;
}

/* Writes through a copy of the descriptor, which fclose closes; the file stays open. */
static int picture_write_script(const struct spex_picture *picture, bool png, int fd,
                                struct spex_error *error) {
    int copy = dup(fd);
    struct spex_script script = {
        .out = copy < 0 ? NULL : fdopen(copy, "w"), .name = picture->name, .png = png};
    if (!script.out) {
        int err =
            spex_fail(error, -errno, "cannot write the picture's script: %s", strerror(errno));
        if (copy >= 0)
            close(copy);
        return err;
    }
    int err = picture->draw(picture->subject, &script, error);
    if (fclose(script.out) != 0 && !err)
        err = spex_fail(error, -errno, "cannot write the picture's script: %s", strerror(errno));
    return err;
}

/* The child reads the script from the descriptor's offset, which is put back to the beginning. */
static int picture_draw_into(const struct spex_picture *picture, bool png, int out,
                             struct spex_error *error) {
    int script = memfd_create("picture-script", MFD_CLOEXEC);
    if (script < 0)
        return spex_fail(error, -errno, "cannot make a file in memory: %s", strerror(errno));
    int err = picture_write_script(picture, png, script, error);
    if (!err && lseek(script, 0, SEEK_SET) < 0)
        err = spex_fail(error, -errno, "cannot read the picture's script: %s", strerror(errno));
    err = err ? err
              : run_drawer(picture->graph ? &graph_drawer : &plot_drawer, png, script, out, error);
    close(script);
    return err;
}

static bool ends_in_png(const char *path) {
    size_t length = strlen(path);
    return length >= 4 && strcmp(path + length - 4, ".png") == 0;
}

/* A picture's bytes and a 0, to be freed. */
struct drawn {
    char *bytes;
    size_t size;
};

/* Whether the picture ends as its format demands: PNG with the chunk IEND (ISO/IEC 15948, 11.2.5),
 * SVG with its element and line ends. */
static bool drawn_is_whole(const struct drawn *drawn, bool png) {
    static const char png_end[] = "\0\0\0\0IEND\xae\x42\x60\x82", svg_end[] = "</svg>";
    const char *end = png ? png_end : svg_end;
    size_t length = png ? sizeof(png_end) - 1 : sizeof(svg_end) - 1, size = drawn->size;
    while (!png && size && strchr("\r\n", drawn->bytes[size - 1]))
        size--;
    return size >= length && memcmp(drawn->bytes + size - length, end, length) == 0;
}

/* Reads the picture from a file in memory. */
static int drawn_read(struct drawn *drawn, bool png, int fd, struct spex_error *error) {
    struct stat file;
    if (fstat(fd, &file) != 0)
        return spex_fail(error, -errno, "cannot read the picture: %s", strerror(errno));
    drawn->size = (size_t)file.st_size;
    drawn->bytes = malloc(drawn->size + 1);
    if (!drawn->bytes)
        return spex_fail(error, -ENOMEM, "out of memory");
    drawn->bytes[drawn->size] = '\0';
    if (pread(fd, drawn->bytes, drawn->size, 0) == file.st_size && drawn_is_whole(drawn, png))
        return 0;
    return spex_fail(error, -EIO, "the picture has no end: it could not be drawn");
}

static int picture_draw(const struct spex_picture *picture, bool png, struct drawn *drawn,
                        struct spex_error *error) {
    int out = memfd_create("picture", MFD_CLOEXEC);
    *drawn = (struct drawn){.bytes = NULL};
    if (out < 0)
        return spex_fail(error, -errno, "cannot make a file in memory: %s", strerror(errno));
    int err = picture_draw_into(picture, png, out, error);
    err = err ? err : drawn_read(drawn, png, out, error);
    close(out);
    return err;
}

/* Replaces an SVG by one that tells values. */
static int drawn_tell(struct drawn *drawn, bool notes, struct spex_error *error) {
    char *told = spex_picture_values(drawn->bytes, notes);
    if (!told)
        return spex_fail(error, -ENOMEM, "out of memory");
    free(drawn->bytes);
    *drawn = (struct drawn){told, strlen(told)};
    return 0;
}

int spex_picture_file(const struct spex_picture *picture, const char *path,
                      struct spex_error *error) {
    struct drawn drawn;
    bool png = ends_in_png(path);
    int err = picture_draw(picture, png, &drawn, error);
    err = err || png ? err : drawn_tell(&drawn, false, error);
    err = err ? err : spex_whole_file_write(path, drawn.bytes, drawn.size, error);
    free(drawn.bytes);
    return err;
}

int spex_picture_svg(const struct spex_picture *picture, char **svg, struct spex_error *error) {
    struct drawn drawn;
    *svg = NULL;
    int err = picture_draw(picture, false, &drawn, error);
    err = err ? err : drawn_tell(&drawn, true, error);
    /* Behind the XML declaration. */
    const char *element = err || !drawn.bytes ? NULL : strstr(drawn.bytes, "<svg");
    if (!err && !element)
        err = spex_fail(error, -EIO, "no SVG has been drawn");
    if (!err && !(*svg = strdup(element)))
        err = spex_fail(error, -ENOMEM, "out of memory");
    free(drawn.bytes);
    return err;
}
