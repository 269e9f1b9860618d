/* SPDX-License-Identifier: MIT
 *
 * Verification: the output decoded again, and compared with the turned source.
 */
#include "verify.h"

#include <string.h>

#include "input_file.h"
#include "say.h"

/* Without the bits behind the last pixel of a packed row, which mean nothing. */
static gboolean bands_equal(const TtImage *a, const TtImage *b) {
    gsize bits = a->width * a->channels * a->sample_bits, bytes = bits / 8;
    guint8 last = (guint8) ~(0xff >> bits % 8);
    for (gsize y = 0; y < a->height; y++) {
        const guint8 *p = (guint8 *)a->data + (ptrdiff_t)y * a->pitch;
        const guint8 *q = (guint8 *)b->data + (ptrdiff_t)y * b->pitch;
        if (memcmp(p, q, bytes) || (last && ((p[bytes] ^ q[bytes]) & last)))
            return FALSE;
    }
    return TRUE;
}

/* Some other pixels: a fault in place, and everywhere else where the format should have kept them. */
static gboolean pixels_differ(Job *job, GError **error) {
    const Reader *reader = job->reader;
    if (!reader->may_change)
        return copy_fault(error);
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
                if (!turned_next(written, &got, error)) {
                    g_prefix_error(error, "its turned copy cannot be read back: ");
                    return FALSE;
                }
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

/* Bare pixels have no header that says how they were turned; and what a reader holds leaves less memory for
 * the other. */
static Options options_of_copy(const Job *job) {
    Options options = *job->options;
    options.plainly = TRUE;
    if (options.memory_limit)
        options.memory_limit -= MIN(options.memory_limit - 1, job->reader->held);
    if (tt_swaps_axes(job->turn)) {
        options.raw.width = job->options->raw.height;
        options.raw.height = job->options->raw.width;
    }
    return options;
}

/* By the format, where it made the copy. */
static gboolean verify_by_itself(Job *job, GError **error) {
    struct stat info;
    FILE *output =
        input_file_open(job->output.temporary, FALSE, job->options->stop, job->cancel, &info, error);
    gboolean good = output && job->reader->format->verify(job->reader, output, error);
    if (output)
        fclose(output);
    return good;
}

gboolean verify(Job *job, GError **error) {
    gboolean good = FALSE;
    struct stat info;
    if (job->reader->by_itself)
        return verify_by_itself(job, error);
    Reader *original = NULL, *reader = NULL;
    Turned *expected = job->turned, *written = NULL;
    Options options = options_of_copy(job);
    FILE *source = NULL, *output = input_file_open(job->output.temporary, FALSE, job->options->stop,
                                                   job->cancel, &info, error);
    if (!output || !(reader = input_file_reader(&output, job->task->output, &options, error)) ||
        !(written = turned_new(reader, TT_NONE, &options, job->cancel, error))) {
        g_prefix_error(error, "its turned copy cannot be read back: ");
        goto out;
    }
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
        if (!(source = input_file_again(job->input, error)) ||
            !(original = input_file_reader(&source, job->task->input, job->options, error)) ||
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
