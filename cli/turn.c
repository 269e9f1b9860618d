/* SPDX-License-Identifier: MIT
 *
 * One file, from its first byte to its new name.
 */
#include "turn.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/format.h"
#include "output_file.h"
#include "say.h"
#include "turned.h"

/* What is at hand while one file is turned. */
typedef struct {
    const Task *task;
    const Options *options;
    const volatile int *cancel;
    struct stat info; /* of the input */
    FILE *input;
    Reader *reader;
    TtOrientation turn; /* of the stored pixels */
    gboolean tag_used;  /* the turn includes the file's tag */
    Turned *turned;
    OutputFile output;
} Job;

/* Opens a regular file and nothing else: a pipe would hang, a folder is a mistake. */
static FILE *open_input(const char *path, struct stat *info, GError **error) {
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        fault(error, STATUS_FAILED, "does not exist: check its name");
    } else if (fd < 0 && errno == EACCES) {
        fault(error, STATUS_FAILED, "may not be read: check its permissions");
    } else if (fd < 0 || fstat(fd, info)) {
        system_fault(error, "open it", errno);
    } else if (S_ISDIR(info->st_mode)) {
        fault(error, STATUS_FAILED, "is a folder: name the files in it");
    } else if (!S_ISREG(info->st_mode)) {
        fault(error, STATUS_FAILED, "is not a regular file: copy it to one first");
    } else if (info->st_size == 0) {
        fault(error, STATUS_FAILED, "is empty: restore it from a copy");
    } else {
        FILE *file = fdopen(fd, "r");
        setvbuf(file, NULL, _IOFBF, 1 << 18);
        return file;
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

static Reader *open_reader(FILE *file, const char *path, const Options *options, GError **error) {
    const Format *format = &raw_format;
    if (!options->raw.given) {
        guint8 head[FORMAT_HEAD];
        gsize size = fread(head, 1, sizeof(head), file);
        rewind(file);
        if (!(format = format_probe(head, size))) {
            fault(error, STATUS_FAILED,
                  "is no image that this build reads (see -v --version): convert it first");
            return NULL;
        }
    }
    return format->open(format, file, path, options, error);
}

static gboolean check_output(const Job *job, GError **error) {
    const char *output = job->task->output;
    const Format *format = job->reader->format;
    if (job->options->in_place) {
        if (job->info.st_nlink > 1)
            return fault(error, STATUS_FAILED,
                         "has %lu names (hard links), which a replacement would part: use -o or -d",
                         (unsigned long)job->info.st_nlink);
        return TRUE;
    }
    if (!format_may_be_named(format, output))
        return fault(error, STATUS_FAILED,
                     "is %s, and formats are not converted: give the output %s another ending", format->name,
                     output);
    if (!job->options->overwrite && !access(output, F_OK))
        return fault(error, STATUS_FAILED, "%s exists: use --overwrite to replace it", output);
    return TRUE;
}

/* The turn of the stored pixels that makes the picture, as it is seen, what the user asked for. */
static void decide_turn(Job *job) {
    job->turn = job->options->operation;
    if (!job->options->stored && job->reader->tag != TT_NONE) {
        job->turn = tt_compose(job->reader->tag, job->options->operation);
        job->tag_used = TRUE;
    }
}

static gboolean nothing_to_do(const Job *job) {
    return job->turn == TT_NONE && !job->tag_used;
}

/* A turn that loses something is said to; it never replaces the only copy. */
static gboolean check_loss(const Job *job, GError **error) {
    const Reader *reader = job->reader;
    if (!reader->loss)
        return TRUE;
    if (job->options->in_place)
        return fault(error, STATUS_FAILED, "is %s, %s, so it is not turned in place: use -o or -d",
                     reader->format->name, reader->loss);
    say_warning(job->task->input, "is %s, %s", reader->format->name, reader->loss);
    return TRUE;
}

static gboolean copy_bytes(FILE *from, FILE *to, GError **error) {
    guint8 buffer[65536];
    size_t n;
    rewind(from);
    while ((n = fread(buffer, 1, sizeof(buffer), from)))
        if (fwrite(buffer, 1, n, to) != n)
            return system_fault(error, "write the output", errno);
    return !ferror(from) || system_fault(error, "read it", errno);
}

static gboolean write_rows(Job *job, Writer *writer, GError **error) {
    TtImage band;
    for (guint pass = 0; pass < writer->passes; pass++) {
        turned_rewind(job->turned);
        do
            if (!turned_next(job->turned, &band, error) ||
                (band.height && !writer->format->write_rows(writer, &band, error)))
                return FALSE;
        while (band.height);
    }
    return writer->format->finish(writer, error);
}

static gboolean write_turned(Job *job, GError **error) {
    job->turned = turned_new(job->reader, job->turn, job->options, job->cancel, error);
    if (!job->turned)
        return FALSE;
    Writer *writer =
        job->reader->format->create(job->output.file, job->reader, job->turn, job->tag_used, error);
    if (!writer)
        return FALSE;
    gboolean written = write_rows(job, writer, error);
    writer->format->dispose(writer);
    return written;
}

/* ---- Verification: the output decoded again, and compared with the turned source ---------------------- */

static gboolean bands_equal(const TtImage *a, const TtImage *b) {
    gsize bytes = (a->width * a->channels * a->sample_bits + 7) / 8;
    for (gsize y = 0; y < a->height; y++)
        if (memcmp((guint8 *)a->data + (ptrdiff_t)y * a->pitch, (guint8 *)b->data + (ptrdiff_t)y * b->pitch,
                   bytes))
            return FALSE;
    return TRUE;
}

/* Some other pixels: a fault in place, and everywhere else where the format should have kept them. */
static gboolean pixels_differ(Job *job, GError **error) {
    const Reader *reader = job->reader;
    if (!reader->may_change)
        return fault(error, STATUS_FAILED,
                     "its turned copy reads back differently, so it was not kept: check disk and memory");
    if (job->options->in_place)
        return fault(error, STATUS_FAILED,
                     "is %s, whose turned copy does not keep all %s, so it was not replaced: use -o or -d",
                     reader->format->name, reader->may_change);
    say_warning(job->task->input, "is %s, whose turned copy does not keep all %s", reader->format->name,
                reader->may_change);
    return TRUE;
}

static gboolean same_rows(Job *job, Turned *expected, Turned *written, GError **error) {
    TtImage want, got;
    gsize used = 0;
    got.height = 0;
    do {
        if (!turned_next(expected, &want, error))
            return FALSE;
        for (gsize y = 0; y < want.height;) {
            if (used == got.height) {
                if (!turned_next(written, &got, error))
                    return FALSE;
                used = 0;
            }
            gsize rows = MIN(want.height - y, got.height - used);
            TtImage a = tt_subimage(&want, (TtRect){0, y, want.width, rows});
            TtImage b = tt_subimage(&got, (TtRect){0, used, got.width, rows});
            if (!rows || !bands_equal(&a, &b))
                return pixels_differ(job, error);
            y += rows;
            used += rows;
        }
    } while (want.height);
    return TRUE;
}

static gboolean verify(Job *job, GError **error) {
    gboolean good = FALSE;
    struct stat info;
    Reader *original = NULL, *reader = NULL;
    Turned *expected = job->turned, *written = NULL;
    FILE *source = NULL, *output = open_input(job->output.temporary, &info, error);
    if (!output || !(reader = open_reader(output, job->task->output, job->options, error)))
        goto out;
    if (!(written = turned_new(reader, TT_NONE, job->options, job->cancel, error)))
        goto out;
    TtImage want = turned_shape(expected), got = turned_shape(written);
    if (reader->pages != job->reader->pages || want.width != got.width || want.height != got.height ||
        want.channels != got.channels || want.sample_bits != got.sample_bits) {
        fault(error, STATUS_FAILED,
              "its turned copy has other pages or pixels of another type, so it was not kept: %s",
              reader->pages == job->reader->pages ? "check disk and memory"
                                                  : "its library merges equal frames: use a later one");
        goto out;
    }
    if (!turned_rewind(expected)) { /* it streamed by: read the original once more */
        expected = NULL;
        if (!(source = open_input(job->task->input, &info, error)) ||
            !(original = open_reader(source, job->task->input, job->options, error)) ||
            !(expected = turned_new(original, job->turn, job->options, job->cancel, error)))
            goto out;
    }
    good = same_rows(job, expected, written, error);

out:
    if (expected && expected != job->turned)
        turned_free(expected);
    if (written)
        turned_free(written);
    if (original)
        original->format->close(original);
    if (reader)
        reader->format->close(reader);
    if (source)
        fclose(source);
    if (output)
        fclose(output);
    return good;
}

/* In place, and where only reading back can tell whether the format could hold all. */
static gboolean verify_if_wanted(Job *job, GError **error) {
    gboolean wanted = job->options->in_place || (job->reader->may_change && !nothing_to_do(job));
    return !wanted || verify(job, error);
}

/* ---- The story of one file ---------------------------------------------------------------------------- */

static gboolean turn_job(Job *job, GError **error) {
    const Options *options = job->options;
    gboolean in_place = options->in_place;
    if (!(job->input = open_input(job->task->input, &job->info, error)) ||
        !(job->reader = open_reader(job->input, job->task->input, options, error)) ||
        !check_output(job, error))
        return FALSE;

    decide_turn(job);
    if (nothing_to_do(job) && in_place) {
        say_note(job->task->input, "nothing to turn, left as it is");
        return TRUE;
    }
    if (!nothing_to_do(job) && !check_loss(job, error))
        return FALSE;
    if (!output_file_open(&job->output, job->task->output, error))
        return FALSE;
    gboolean written =
        nothing_to_do(job) ? copy_bytes(job->input, job->output.file, error) : write_turned(job, error);
    if (!written || !output_file_flush(&job->output, in_place, error) || !verify_if_wanted(job, error) ||
        !output_file_commit(&job->output, in_place ? &job->info : NULL, in_place || options->overwrite,
                            error))
        return FALSE;

    char *output = shown_name(job->task->output);
    say_note(job->task->input, "%" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT ", %s -> %s",
             job->reader->shape.width, job->reader->shape.height,
             nothing_to_do(job) ? "nothing to turn, copied" : tt_orientation_name(job->turn), output);
    g_free(output);
    return TRUE;
}

gboolean turn_file(const Task *task, const Options *options, const volatile int *cancel, GError **error) {
    Job job = {.task = task, .options = options, .cancel = cancel};
    gboolean done = turn_job(&job, error);
    output_file_close(&job.output);
    if (job.turned)
        turned_free(job.turned);
    if (job.reader)
        job.reader->format->close(job.reader);
    if (job.input)
        fclose(job.input);
    return done;
}
