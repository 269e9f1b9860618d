/* SPDX-License-Identifier: MIT
 *
 * One file, from its first byte to its new name.
 */
#include "turn.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checksum.h"
#include "input_file.h"
#include "job.h"
#include "journal.h"
#include "progress.h"
#include "report.h"
#include "say.h"
#include "temporary.h"
#include "verify.h"
#include "world_file.h"
#include "write_behind.h"

static char *backup_of(const Job *job) {
    return job->options->backup ? g_strconcat(job->task->output, job->options->backup, NULL) : NULL;
}

/* A backup's name must be free, or be the second name of this original that a run gave it before it died. */
static gboolean check_original(const Job *job, GError **error) {
    char *backup = backup_of(job);
    struct stat there;
    gboolean taken = backup && !lstat(backup, &there);
    gboolean ours = taken && output_file_is_backup(backup, &job->info), good = TRUE;
    if (taken && !ours)
        good = fault(error, STATUS_FAILED, "has a backup %s: name another suffix, or move it away", backup);
    else if (job->info.st_nlink > (ours ? 2 : 1) && !job->options->part_links)
        good =
            fault(error, STATUS_FAILED,
                  "has %lu names (hard links), which a replacement would part: use -o or -d, or --part-links",
                  (unsigned long)job->info.st_nlink);
    g_free(backup);
    return good;
}

static gboolean may_write(const Job *job, const char *name, GError **error) {
    struct stat there;
    if (lstat(name, &there))
        return TRUE;
    if (!S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode))
        return fault(error, STATUS_FAILED, "%s is not a regular file: name a file", name);
    return job->options->overwrite ||
           fault(error, STATUS_FAILED, "%s exists: use --overwrite to replace it", name);
}

static gboolean check_output(const Job *job, GError **error) {
    const char *output = job->task->output;
    const Format *format = job->reader->format;
    if (job->options->in_place)
        return check_original(job, error);
    if (!strcmp(output, "-"))
        return !job->options->format || format_is_called(format, job->options->format) ||
               fault(error, STATUS_FAILED, "is %s, and formats are not converted: it cannot become %s",
                     format->name, job->options->format);
    if (!format_may_be_named(format, output))
        return fault(error, STATUS_FAILED,
                     "is %s, and formats are not converted: give the output %s another ending", format->name,
                     output);
    return may_write(job, output, error);
}

/* Before memory is taken for it: a file of a few bytes may claim any size. */
static gboolean check_size(const Job *job, GError **error) {
    const TtImage *shape = &job->reader->shape;
    guint64 limit = job->options->max_pixels;
    return !limit || shape->width <= limit / shape->height / job->reader->pages ||
           fault(error, STATUS_FAILED,
                 "has %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT
                 " pixels%s, and --max-pixels allows %" G_GUINT64_FORMAT ": raise it for files to be trusted",
                 shape->width, shape->height, job->reader->pages > 1 ? " in each page" : "", limit);
}

/* The output's folder may be a new one below that of -d. */
static gboolean make_folder(const Job *job, GError **error) {
    if (!job->options->directory)
        return TRUE;
    char *folder = g_path_get_dirname(job->task->output),
         *what = g_strdup_printf("create the folder %s", folder);
    gboolean made = !g_mkdir_with_parents(folder, 0777) || system_fault(error, what, errno);
    g_free(folder);
    g_free(what);
    return made;
}

/* What need not be done is said to be, and has an outcome. */
static gboolean is_let_be(Job *job) {
    const char *reason;
    struct stat there;
    if (job->options->skip_existing && !lstat(job->task->output, &there)) {
        job->outcome->kind = OUTCOME_SKIPPED;
        reason = "its output exists";
    } else if (job->task->walked && !job->options->raw.given &&
               !input_file_may_be_picture(job->task->input)) {
        job->outcome->kind = OUTCOME_IGNORED;
        reason = "is no picture";
    } else {
        return FALSE;
    }
    say_note(job->task->input, "%s, %s", reason, outcome_word(job->outcome->kind));
    job->outcome->message = g_strdup(reason);
    return TRUE;
}

/* The turn of the stored pixels that makes the picture, as it is seen, what the user asked for. */
static void decide_turn(Job *job) {
    job->turn = job->options->operation;
    if (!job->options->stored && !job->reader->by_tag && job->reader->tag != TT_NONE) {
        job->turn = tt_compose(job->reader->tag, job->options->operation);
        job->tag_used = TRUE;
    }
}

static gboolean nothing_to_do(const Job *job) {
    return job->turn == TT_NONE && !job->tag_used && !job->options->strip;
}

/* Waits for the memory that the turn will hold, while other files may have the core. */
static gboolean take_memory(Job *job, GError **error) {
    const Reader *reader = job->reader;
    gsize bytes =
        reader->own_memory + (reader->by_itself ? 0 : turned_memory(reader, job->turn, job->options));
    if (job->options->in_place)
        bytes += reader->held; /* the copy, which is decoded as the original was */
    cores_leave(job->options->cores);
    gboolean taken = !bytes || budget_take(job->options->budget, bytes, job->options->stop);
    cores_join(job->options->cores);
    if (!taken)
        return fault(error, STATUS_SIGNAL, "interrupted");
    job->memory = bytes;
    return TRUE;
}

static gboolean same_file(const struct stat *one, const struct stat *other) {
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* The output's world file may take the name of another, but of none that the input or the output is. */
static gboolean check_world_name(Job *job, GError **error) {
    struct stat there, link, source;
    const char *name = job->world_output;
    gboolean taken = !strcmp(name, job->task->output);
    job->world_anew = lstat(name, &there) != 0;
    if (!job->world_anew)
        taken |= same_file(&there, &job->info) || (!lstat(job->world, &link) && same_file(&there, &link)) ||
                 (!stat(job->world, &source) && same_file(&there, &source));
    if (taken)
        return fault(error, STATUS_FAILED,
                     "has the world file %s, and the output's would take the place of %s: give the output "
                     "another name or folder",
                     job->world, name);
    return may_write(job, name, error);
}

/* What a world file says would be untrue of the turned picture. */
static gboolean check_world(Job *job, GError **error) {
    const Options *options = job->options;
    const Reader *reader = job->reader;
    const char *output = job->task->output;
    gboolean moves = !reader->by_tag && (job->turn != TT_NONE || reader->first_differs);
    if (!S_ISREG(job->info.st_mode) || (options->in_place && !moves) ||
        !(job->world = world_file_beside(job->task->input)))
        return TRUE;
    if (options->in_place)
        return fault(error, STATUS_FAILED,
                     "lies beside the world file %s, which would be untrue of it: use -o or -d", job->world);
    if (options->strip)
        return TRUE;
    if (!strcmp(output, "-") || (!moves && !options->geo_rewrite)) {
        say_warning(job->task->input,
                    "lies beside the world file %s, which stays behind: -o FILE or -d with --geo rewrite "
                    "takes it along",
                    job->world);
        return TRUE;
    }
    if (reader->first_differs)
        return fault(error, STATUS_FAILED,
                     "lies beside the world file %s, which cannot follow, as the first page is cut or turned "
                     "otherwise than asked: move that away, or use --stored or another --jpeg",
                     job->world);
    if (!options->geo_rewrite)
        return fault(
            error, STATUS_FAILED,
            "is tied to places on the map by the world file %s: --geo rewrite turns that too, --strip "
            "leaves it out",
            job->world);
    job->world_output = world_file_name(job->world, job->task->input, output);
    if (!check_world_name(job, error))
        return FALSE;
    job->world_text = world_file_turned(job->world, moves ? job->turn : TT_NONE, reader->shape.width,
                                        reader->shape.height, error);
    return job->world_text != NULL;
}

/* Before the picture itself: without it a world file says nothing. */
static gboolean write_world(const Job *job, GError **error) {
    if (!job->world_text)
        return TRUE;
    OutputFile file = {0};
    const Commit how = {.replace = job->options->overwrite, .sync = job->options->sync};
    gboolean written =
        output_file_open(&file, job->world_output, error) &&
        (fputs(job->world_text, file.file) >= 0 || system_fault(error, "write its world file", errno)) &&
        output_file_flush(&file, error) && output_file_dress(&file, NULL, &job->info, FALSE, error) &&
        (!job->options->sync || output_file_sync(&file, error)) && output_file_commit(&file, &how, error);
    output_file_close(&file);
    return written;
}

/* Some turns cannot be done. One that loses something is said to, and never replaces the only copy. */
static gboolean check_turn(Job *job, GError **error) {
    Reader *reader = job->reader;
    if (reader->format->decide && !reader->format->decide(reader, job->turn, job->tag_used, error))
        return FALSE;
    if (!check_world(job, error))
        return FALSE;
    if (!reader->loss)
        return TRUE;
    if (job->options->in_place)
        return fault(error, STATUS_FAILED, "is %s, %s, so it is not turned in place: use -o or -d",
                     reader->format->name, reader->loss);
    say_warning(job->task->input, "is %s, %s", reader->format->name, reader->loss);
    return TRUE;
}

/* A file that needs no turn is copied to the byte, but not if its pixels are damaged. Other damage is copied,
 * and told. */
static gboolean check_pixels(Job *job, GError **error) {
    const Reader *reader = job->reader;
    TtImage band;
    if (reader->damaged)
        say_warning(job->task->input, "is %s, %s when it is turned; now it is copied as it is",
                    reader->format->name, reader->loss);
    if (reader->format->check)
        return reader->format->check(job->reader, job->cancel, error);
    if (!(job->turned = turned_new(job->reader, TT_NONE, job->options, job->cancel, error)))
        return FALSE;
    do
        if (!turned_next(job->turned, &band, error))
            return FALSE;
    while (band.height);
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

static double seconds_since(gint64 moment) {
    return (double)(g_get_monotonic_time() - moment) * 1e-6;
}

static gboolean write_band(Job *job, Writer *writer, const TtImage *band, WriteBehind *behind,
                           GError **error) {
    gint64 started = g_get_monotonic_time();
    gboolean written = writer->format->write_rows(writer, band, error);
    write_behind(behind, (guint64)MAX(ftello(job->output.file), 0));
    job->outcome->encode += seconds_since(started);
    return written;
}

static gboolean write_rows(Job *job, Writer *writer, GError **error) {
    TtImage band;
    const TtImage *shape = &job->reader->shape;
    guint64 pixel_bits = (guint64)shape->channels * shape->sample_bits;
    WriteBehind behind =
        write_behind_for(fileno(job->output.file),
                         shape->width * pixel_bits / 8 * shape->height * job->reader->pages, job->options);
    for (guint pass = 0; pass < writer->passes; pass++) {
        if (!turned_rewind(job->turned))
            return fault(error, STATUS_FAILED, "cannot be read once more: free memory");
        do
            if (!turned_next(job->turned, &band, error) ||
                (band.height && !write_band(job, writer, &band, &behind, error)))
                return FALSE;
        while (band.height);
    }
    gint64 started = g_get_monotonic_time();
    gboolean finished = !writer->format->finish || writer->format->finish(writer, error);
    job->outcome->encode += seconds_since(started);
    return finished;
}

static gboolean write_turned(Job *job, GError **error) {
    if (job->reader->by_itself)
        return job->reader->format->turn(job->reader, job->output.file, job->cancel, error);
    job->turned = turned_new(job->reader, job->turn, job->options, job->cancel, error);
    if (!job->turned)
        return FALSE;
    char *way = turned_way(job->turned);
    say_note(job->task->input, "turned %s", way);
    g_free(way);
    Writer *writer =
        job->reader->format->create(job->output.file, job->reader, job->turn, job->tag_used, error);
    if (!writer)
        return FALSE;
    gboolean written = write_rows(job, writer, error);
    writer->format->dispose(writer);
    return written;
}

/* In place, and where only reading back can tell whether the format could hold all. */
static gboolean verify_if_wanted(Job *job, GError **error) {
    gboolean in_place = job->options->in_place && !job->options->no_verify;
    gboolean wanted = in_place || (job->reader->may_change && !nothing_to_do(job));
    if (job->turned) /* which verification may use once more */
        turned_seconds(job->turned, &job->outcome->decode, &job->outcome->pixels);
    if (!wanted)
        return TRUE;
    gint64 started = g_get_monotonic_time();
    gboolean good = verify(job, error);
    job->outcome->verify = seconds_since(started);
    return good;
}

static void note_sizes(Job *job) {
    const TtImage *shape = &job->reader->shape;
    Outcome *outcome = job->outcome;
    gboolean swap = tt_swaps_axes(job->turn);
    outcome->turn = job->turn;
    outcome->width = shape->width;
    outcome->height = shape->height;
    outcome->turned_width = swap ? shape->height : shape->width;
    outcome->turned_height = swap ? shape->width : shape->height;
}

/* The name behind "auto" and "cpu", which for pixels in host memory are the best of the processor's: the
 * table begins with it. */
static const char *backend_of(const Options *options) {
    const char *name = options->backend ? options->backend : g_getenv("TT_BACKEND");
    gsize i = 0;
    if (name && *name && strcmp(name, "auto") && strcmp(name, "cpu"))
        return name;
    while (!strcmp(tt_backend_name(i), "cuda") || tt_backend_check(tt_backend_name(i)))
        i++;
    return tt_backend_name(i);
}

/* Of a pipe it is unknown: what went by is gone. */
static gboolean note_checksums(Job *job, GError **error) {
    Outcome *outcome = job->outcome;
    if (!job->options->checksum)
        return TRUE;
    if (S_ISREG(job->info.st_mode) && !(outcome->input_sha256 = checksum_of(fileno(job->input), error)))
        return FALSE;
    if (!job->output.file)
        return (outcome->output_sha256 = g_strdup(outcome->input_sha256)) != NULL;
    return (outcome->output_sha256 = checksum_of(fileno(job->output.file), error)) != NULL;
}

/* The output is as the input was in what is not its bytes: in place, or if the user wants that. */
static gboolean dress(Job *job, GError **error) {
    const Options *options = job->options;
    gboolean kept = S_ISREG(job->info.st_mode) && (options->in_place || options->preserve);
    return output_file_dress(&job->output, kept ? job->task->input : NULL, &job->info,
                             kept && options->preserve, error);
}

/* The output is complete: all that is to be known of it, and the intent to replace the original by it. */
static gboolean tell_intent(Job *job, GError **error) {
    const Options *options = job->options;
    struct stat finished;
    if (fstat(fileno(job->output.file), &finished))
        return system_fault(error, "look at the output", errno);
    job->outcome->bytes_out = (guint64)finished.st_size;
    if (!note_checksums(job, error))
        return FALSE;
    if (!options->in_place || !report_is_journal(options->reporting))
        return TRUE;
    const char *known = job->outcome->output_sha256;
    char *sum = known ? g_strdup(known) : checksum_of(fileno(job->output.file), error);
    gboolean told = sum && report_intent(options->reporting, job->task, job->outcome->operation, &finished,
                                         sum, &job->info, error);
    g_free(sum);
    return told;
}

static gboolean commit(Job *job, GError **error) {
    const Options *options = job->options;
    gboolean in_place = options->in_place;
    char *backup = backup_of(job);
    gboolean keeps_times = options->preserve && S_ISREG(job->info.st_mode);
    const Commit how = {.times = keeps_times ? &job->info : NULL,
                        .replace = in_place || options->overwrite,
                        .sync = in_place || options->sync,
                        .original = in_place ? &job->info : NULL,
                        .backup = backup};
    gboolean committed = output_file_commit(&job->output, &how, error);
    g_free(backup);
    return committed;
}

/* The output's bytes, and all that is needed to trust them. */
static gboolean make_output(Job *job, GError **error) {
    gboolean sync = job->options->in_place || job->options->sync;
    gboolean written = nothing_to_do(job)
                           ? check_pixels(job, error) && copy_bytes(job->input, job->output.file, error)
                           : write_turned(job, error);
    return written && output_file_flush(&job->output, error) && dress(job, error) &&
           (!sync || output_file_sync(&job->output, error)) && verify_if_wanted(job, error);
}

/* Everything once more, without the GPU that nobody asked for: from the file's first byte, into an empty
 * output. */
static gboolean start_again(Job *job, Options *options, GError **error) {
    static char processor[] = "cpu";
    if (fileno(job->input) < 0) {
        g_prefix_error(error, "a GPU failed, and a pipe cannot be read again (use --backend cpu): ");
        return FALSE;
    }
    say_warning(job->task->input, "is turned once more, by the processor, since a GPU failed: %s",
                (*error)->message);
    g_clear_error(error);
    options->backend = processor;
    job->options = options;
    g_clear_pointer(&job->turned, turned_free);
    job->reader->format->close(job->reader);
    job->reader = NULL;
    budget_give(job->options->budget, job->memory); /* who waits for it may hold what opening waits for */
    job->memory = 0;
    if (fseeko(job->input, 0, SEEK_SET))
        return system_fault(error, "read it", errno);
    job->reader = input_file_reader(&job->input, job->task->input, options, error);
    if (!job->reader)
        return FALSE;
    job->reader->cancel = job->cancel;
    /* What is buffered goes first, or it would lie in the emptied file. */
    if (fseeko(job->output.file, 0, SEEK_SET) || ftruncate(fileno(job->output.file), 0))
        return system_fault(error, "write the output", errno);
    const Format *format = job->reader->format;
    return (!format->decide || format->decide(job->reader, job->turn, job->tag_used, error)) &&
           take_memory(job, error);
}

static gboolean write_output(Job *job, Options *options, GError **error) {
    if (!make_folder(job, error) || !output_file_open(&job->output, job->task->output, error))
        return FALSE;
    gboolean made = make_output(job, error);
    if (!made && job->turned && turned_was_let_down(job->turned) && !*job->cancel)
        made = start_again(job, options, error) && make_output(job, error);
    if (!made || !tell_intent(job, error) || !write_world(job, error))
        return FALSE;
    if (commit(job, error))
        return TRUE;
    if (job->world_text && job->world_anew)
        unlink(job->world_output);
    return FALSE;
}

static gboolean open_input(Job *job, GError **error) {
    const char *path = job->task->input;
    if (temporary_is(path))
        return fault(error, STATUS_FAILED, "is a temporary file of this program: it goes with the next run");
    if (!(job->input =
              input_file_open(path, !job->task->walked, job->options->stop, job->cancel, &job->info, error)))
        return FALSE;
    if (job->options->in_place && !S_ISREG(job->info.st_mode))
        return fault(error, STATUS_FAILED, "is a pipe, which nothing can replace: use -o or -d");
    job->outcome->bytes_in = (guint64)job->info.st_size;
    progress_take_up(job->options->watching, path, fileno(job->input));
    return TRUE;
}

/* What an earlier run did. */
static gboolean was_done(Job *job, gboolean *done, GError **error) {
    if (!journal_look_up(job->options->journal, job->task, job->outcome->operation, job->options->in_place,
                         fileno(job->input), done, error))
        return FALSE;
    if (*done) {
        job->outcome->kind = OUTCOME_SKIPPED;
        job->outcome->message = g_strdup("was done by an earlier run");
        say_note(job->task->input, "%s", job->outcome->message);
    }
    return TRUE;
}

static gboolean turn_job(Job *job, Options *options, GError **error) {
    gboolean done;
    if (job->task->problem)
        return fault(error, STATUS_FAILED, "%s", job->task->problem);
    if (is_let_be(job))
        return TRUE;
    temporary_sweep(job->task->output);
    if (!open_input(job, error) || !was_done(job, &done, error))
        return FALSE;
    if (done)
        return TRUE;
    if (!(job->reader = input_file_reader(&job->input, job->task->input, job->options, error)) ||
        !check_size(job, error) || !check_output(job, error))
        return FALSE;

    job->reader->cancel = job->cancel;
    decide_turn(job);
    note_sizes(job);
    if (nothing_to_do(job) && job->options->in_place) {
        say_note(job->task->input, "nothing to turn, left as it is");
        job->outcome->kind = OUTCOME_UNCHANGED;
        job->outcome->bytes_out = job->outcome->bytes_in;
        return note_checksums(job, error);
    }
    if (!(nothing_to_do(job) ? check_world(job, error) : check_turn(job, error)) ||
        !take_memory(job, error) || !write_output(job, options, error))
        return FALSE;
    job->outcome->kind = nothing_to_do(job) ? OUTCOME_COPIED : OUTCOME_TURNED;
    if (!nothing_to_do(job) && !job->reader->by_itself)
        job->outcome->backend = backend_of(job->options);
    job->outcome->device = job->options->device;
    return TRUE;
}

/* "5 x 3, rot90 -> out.png by avx2 in 0.12 s, 3.4 Mpx/s". */
static void tell_done(const Job *job) {
    const Outcome *outcome = job->outcome;
    double pixels = (double)outcome->width * (double)outcome->height * (double)job->reader->pages;
    char *output = shown_name(job->task->output);
    say_note(job->task->input,
             "%" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT ", %s -> %s%s%s in %.2f s, %.1f Mpx/s", outcome->width,
             outcome->height,
             outcome->kind == OUTCOME_COPIED ? "nothing to turn, copied" : tt_orientation_name(outcome->turn),
             output, outcome->backend ? " by " : "", outcome->backend ? outcome->backend : "",
             outcome->seconds, pixels / MAX(outcome->seconds, 1e-6) * 1e-6);
    g_free(output);
}

gboolean turn_file(const Task *task, const Options *options, const atomic_int *cancel, Outcome *outcome,
                   GError **error) {
    Options own = *options; /* a task may have an operation of its own */
    own.operation = task->operation;
    Job job = {.task = task, .options = &own, .cancel = cancel, .outcome = outcome};
    gint64 started = g_get_monotonic_time();
    outcome->operation = task->operation;
    gboolean done = turn_job(&job, &own, error);
    if (!done && *options->stop && job.info.st_mode &&
        !S_ISREG(job.info.st_mode)) { /* nobody wrote to it any more */
        g_clear_error(error);
        fault(error, STATUS_SIGNAL, "interrupted");
    }
    outcome->seconds = seconds_since(started);
    if (done && (outcome->kind == OUTCOME_TURNED || outcome->kind == OUTCOME_COPIED))
        tell_done(&job);
    output_file_close(&job.output);
    g_free(job.world);
    g_free(job.world_output);
    g_free(job.world_text);
    if (job.turned)
        turned_free(job.turned);
    if (job.reader)
        job.reader->format->close(job.reader);
    if (job.input) {
        progress_put_down(options->watching, task->input);
        fclose(job.input);
    }
    if (job.memory)
        budget_give(job.options->budget, job.memory);
    return done;
}
