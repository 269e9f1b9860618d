/* SPDX-License-Identifier: MIT
 *
 * Strips or tiles as they lie in the file: a walk reads and turns them, plane after plane, and each band of
 * its rows is written into the blocks that it lies in, whose places are known from the start.
 */
#include "tiff_bare.h"

#include <string.h>

#include "../fault.h"
#include "../walk.h"
#include "../write_behind.h"
#include "bare_rows.h"
#include "tiff_steps.h"
#include "tiff_tag.h"

gboolean tiff_is_bare(const TiffPicture *p) {
    return p->compression == PACKED_NONE && p->fill_order != 2 && !(p->tiled && tiff_steps_are_odd(p)) &&
           !p->sparse;
}

/* ---- Reading ------------------------------------------------------------------------------------------ */

/* A plane, as a walk knows pictures. */
typedef struct {
    Reader reader;
    const TiffPicture *picture;
    BareBlocks blocks; /* of bytes, if steps are odd; its starts are the picture's */
    gsize width;       /* in the same */
} Plane;

/* Steps of an odd number of bits, unpacked. */
static gboolean read_odd(Plane *plane, TtRect r, const TtImage *into, GError **error) {
    const TiffPicture *p = plane->picture;
    gsize first = r.x * p->step_bits / 8, end = ((r.x + r.width) * p->step_bits + 7) / 8, bytes = end - first;
    guint8 *packed = g_try_malloc_n(r.height, bytes);
    if (!packed)
        return memory_fault(r.height * bytes, error);
    TtImage rows = tt_image(packed, (ptrdiff_t)bytes, bytes, r.height, 1, 8);
    TtRect there = {first, r.y, bytes, r.height};
    gboolean good = bare_blocks_read(&plane->blocks, plane->width, there, &rows, FALSE, error);
    if (good)
        tiff_steps_unpack(p, packed, bytes, r.x * p->step_bits % 8, into);
    g_free(packed);
    return good;
}

static gboolean read_rect(Reader *reader, TtRect r, const TtImage *into, GError **error) {
    Plane *plane = (Plane *)reader;
    if (tiff_steps_are_odd(plane->picture))
        return read_odd(plane, r, into, error);
    return bare_blocks_read(&plane->blocks, plane->width, r, into, reader->spare, error);
}

static const Format plane_format = {.read_rect = read_rect};

/* Whether strips follow each other without gaps, as in most files: then they are one. */
static gboolean are_joined(const TiffPicture *p, const guint64 *starts) {
    for (gsize i = 1; i < p->down; i++)
        if (starts[i] != starts[i - 1] + tiff_block_bytes(p, i - 1))
            return FALSE;
    return !p->tiled;
}

static Plane plane_of(const TiffPicture *p, gsize number, int fd) {
    gboolean odd = tiff_steps_are_odd(p);
    gsize row = tiff_block_row(p);
    Plane plane = {.reader = {.format = &plane_format, .pages = 1, .anywhere = TRUE}, .picture = p};
    TtImage *shape = &plane.reader.shape;
    *shape = tiff_step(p);
    shape->width = tiff_steps_across(p, p->width);
    shape->height = tiff_steps_down(p, p->height);
    plane.width = odd ? row : shape->width;
    plane.blocks.starts = p->starts + number * p->across * p->down;
    gboolean joined = are_joined(p, plane.blocks.starts);
    plane.blocks.width = odd ? row : tiff_steps_across(p, p->block_width);
    plane.blocks.height = joined ? shape->height : tiff_steps_down(p, p->block_height);
    plane.blocks.rows = (BareRows){
        .fd = fd, .row_bytes = row, .pixel_bits = odd ? 8 : p->step_bits, .height = plane.blocks.height};
    if (p->tiled) {
        plane.reader.tile_width = plane.blocks.width;
        plane.reader.tile_height = plane.blocks.height;
    } else if (joined) {
        plane.reader.file_start = (off_t)plane.blocks.starts[0];
        plane.reader.file_pitch = row;
    }
    return plane;
}

gsize tiff_bare_memory(const TiffPicture *from, TtOrientation turn, const Options *options) {
    Plane plane = plane_of(from, 0, -1);
    return walk_memory(&plane.reader, turn, options);
}

/* ---- Writing ------------------------------------------------------------------------------------------ */

/* A plane of the turned picture. */
typedef struct {
    const TiffPicture *picture;
    TiffSink *sink;
    guint64 *starts; /* of its blocks */
    gsize row;       /* bytes of a row of a block */
    guint8 *rows;    /* memory for a part of a block */
    gsize size;      /* and its bytes */
    WriteBehind behind;
} Target;

static guint64 take_room(TiffSink *sink, guint64 bytes) {
    if (!sink->memory)
        return tiff_output_take(sink->output, bytes);
    gsize end = sink->memory->len, at = end + end % 2;
    g_byte_array_set_size(sink->memory, (guint)(at + bytes));
    memset(sink->memory->data + end, 0, at + bytes - end);
    return at;
}

/* Strips follow each other without gaps; tiles begin at even places. */
static void place_blocks(TiffPicture *to, gsize plane, TiffSink *sink) {
    guint64 bytes = 0, first = plane * to->across * to->down, n = to->across * to->down;
    for (gsize i = 0; i < n; i++) {
        to->starts[first + i] = bytes;
        to->lengths[first + i] = tiff_block_bytes(to, i);
        bytes += to->lengths[first + i] + (to->tiled ? to->lengths[first + i] % 2 : 0);
    }
    guint64 at = take_room(sink, bytes);
    for (gsize i = 0; i < n; i++)
        to->starts[first + i] += at;
}

static gboolean write_bytes(const Target *t, guint64 at, const guint8 *data, gsize size, GError **error) {
    if (!t->sink->memory)
        return tiff_output_write(t->sink->output, at, data, size, error);
    memcpy(t->sink->memory->data + at, data, size);
    return TRUE;
}

static gboolean have_room(Target *t, gsize size, GError **error) {
    if (size <= t->size)
        return TRUE;
    g_free(t->rows);
    t->size = (t->rows = g_try_malloc(size)) ? size : 0;
    return t->rows || memory_fault(size, error);
}

/* Rows from y on, all of them in one row of blocks: the part that is in one of these, filled up with zeros at
 * its right. */
static gboolean write_part(Target *t, const TtImage *rows, gsize y, gsize column, GError **error) {
    const TiffPicture *p = t->picture;
    gsize width = tiff_steps_across(p, p->block_width), height = tiff_steps_down(p, p->block_height);
    gsize x = column * width, wide = MIN(width, rows->width - x);
    gsize bits = rows->channels * (gsize)rows->sample_bits, bytes = (wide * bits + 7) / 8;
    const guint8 *from = (const guint8 *)rows->data + x * bits / 8;
    for (gsize i = 0; i < rows->height; i++) {
        guint8 *to = t->rows + i * t->row;
        memcpy(to, from + (ptrdiff_t)i * rows->pitch, bytes);
        memset(to + bytes, 0, t->row - bytes);
    }
    return write_bytes(t, t->starts[y / height * p->across + column] + y % height * t->row, t->rows,
                       rows->height * t->row, error);
}

static gboolean write_tiles(Target *t, const TtImage *rows, gsize y, GError **error) {
    gsize height = tiff_steps_down(t->picture, t->picture->block_height);
    for (gsize done = 0, n; done < rows->height; done += n) {
        n = MIN(height - (y + done) % height, rows->height - done);
        TtImage part = tt_subimage(rows, (TtRect){0, done, rows->width, n});
        if (!have_room(t, n * t->row, error))
            return FALSE;
        for (gsize column = 0; column < t->picture->across; column++)
            if (!write_part(t, &part, y + done, column, error))
                return FALSE;
    }
    /* The last row of tiles may still grow. */
    gsize last = (y + rows->height) / height;
    write_behind(&t->behind, t->starts[MIN(last, t->picture->down - 1) * t->picture->across]);
    return TRUE;
}

/* A walk's rows have no gaps, as those of strips. */
static gboolean write_strips(Target *t, const TtImage *rows, gsize y, GError **error) {
    gsize size = rows->height * t->row;
    const guint8 *data = rows->data;
    if (tiff_steps_are_odd(t->picture)) {
        if (!have_room(t, size, error))
            return FALSE;
        tiff_steps_pack(t->picture, rows, t->rows, t->row);
        data = t->rows;
    }
    guint64 at = t->starts[0] + y * t->row;
    write_behind(&t->behind, at);
    return write_bytes(t, at, data, size, error);
}

/* ---- A plane ------------------------------------------------------------------------------------------ */

static char *way_of(const Walk *walk) {
    gsize bytes, pieces = walk_pieces(walk, &bytes);
    return g_strdup_printf("in %" G_GSIZE_FORMAT " pieces of %.1f MB, since it can be read anywhere", pieces,
                           (double)bytes / 1e6);
}

static gboolean turn_plane(const TiffTurner *turner, Plane *plane, TtOrientation turn, Target *target,
                           char **way, GError **error) {
    Options options = *turner->options;
    options.cores = turner->cores;
    Walk *walk = walk_new(&plane->reader, 0, turn, &options, turner->cancel, error);
    if (!walk)
        return FALSE;
    gsize height = tiff_steps_down(target->picture, target->picture->height);
    gboolean good = TRUE;
    TtImage rows;
    for (gsize y = 0; good && y < height; y += rows.height) {
        if (!(good = walk_next(walk, &rows, error)))
            break;
        tiff_steps_turned(plane->picture, turn, &rows);
        good = target->picture->tiled ? write_tiles(target, &rows, y, error)
                                      : write_strips(target, &rows, y, error);
    }
    if (way)
        *way = way_of(walk);
    walk_free(walk);
    return good;
}

gboolean tiff_bare_turn(const TiffTurner *turner, const TiffPicture *from, TiffPicture *to,
                        TtOrientation turn, TiffSink *sink, char **way, GError **error) {
    gboolean good = TRUE;
    for (gsize i = 0; good && i < from->planes; i++) {
        Plane plane = plane_of(from, i, turner->file->fd);
        place_blocks(to, i, sink);
        Target target = {.picture = to,
                         .sink = sink,
                         .starts = to->starts + i * to->across * to->down,
                         .row = tiff_block_row(to),
                         .behind = write_behind_for(sink->memory ? -1 : sink->output->file.fd,
                                                    tiff_picture_bytes(to), turner->options)};
        target.behind.begun = target.behind.done = target.starts[0];
        good = turn_plane(turner, &plane, turn, &target, i ? NULL : way, error);
        g_free(target.rows);
        bare_rows_clear(&plane.blocks.rows);
    }
    return good;
}
