/* SPDX-License-Identifier: MIT
 *
 * The choice of kernels, and the arithmetic of tiles.
 *
 * A move comes in with 64-bit sizes. Kernels count pixels, rows and blocks in 31 bits and bytes in 64, so a
 * move past that is cut into several; below, everything is one launch.
 */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "../size.h"
#include "kernels.h"
#include "tile_layout.h"

enum {
    WARP = 32,
    PIECE = 1 << 29,            /* elements or units along a side of one launch, and its blocks */
    GENERAL_SHARED = 32 * 1024, /* bytes of a tile of pixels of any size */
    SHORT_ROW = 1024,           /* bytes: of rows read backward, whose ends are many */
    SHORT_RUN = 4096,
    LARGE_PIXEL = 128, /* bytes from which a pixel is worth reading by itself */
    SHORT_LEAD = 4,
    LONG_LEAD = TT_SECTOR,
};

/* ---- The table of kernels --------------------------------------------------------------------------- */

typedef struct {
    unsigned bytes, src, dst, width, height;
} TurnShape;

typedef struct {
    unsigned bytes, channels, from_planes, to_planes, any, cells;
} MoveShape;

typedef struct {
    unsigned bytes, reverse, alike;
} CopyShape;

#define SHAPE(bytes, src, dst, width, height, ...) {bytes, src, dst, width, height},
static const TurnShape turn_shapes[] = {TT_TURN_KERNELS(SHAPE)};
static const TurnShape turn_list_shapes[] = {TT_TURN_LIST_KERNELS(SHAPE)};
static const TurnShape turn_join_shapes[] = {TT_TURN_JOIN_KERNELS(SHAPE)};
static const TurnShape turn_split_shapes[] = {TT_TURN_SPLIT_KERNELS(SHAPE)};
#undef SHAPE
#define SHAPE(...) {__VA_ARGS__},
static const MoveShape move_shapes[] = {TT_MOVE_KERNELS(SHAPE)};
static const CopyShape copy_shapes[] = {TT_COPY_KERNELS(SHAPE)};
#undef SHAPE

#define SHAPE(bytes) bytes,
static const unsigned run_bytes[] = {TT_RUN_KERNELS(SHAPE)};
#undef SHAPE

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    TURN = 0,
    TURN_LIST = TURN + COUNT(turn_shapes),
    TURN_JOIN = TURN_LIST + COUNT(turn_list_shapes),
    TURN_SPLIT = TURN_JOIN + COUNT(turn_join_shapes),
    MOVE = TURN_SPLIT + COUNT(turn_split_shapes),
    COPY = MOVE + COUNT(move_shapes),
    RUN = COPY + COUNT(copy_shapes),
    UNITS = RUN + COUNT(run_bytes),
    KERNELS = UNITS + 2 * 5,
};

#define TURN_ROW(bytes, src, dst, width, height, threads, blocks, batch, unroll, carveout)                   \
    {"tt_turn_" #bytes "_" #src "_" #dst "_" #width "x" #height, threads, carveout, false},
#define TURN_LIST_ROW(bytes, src, dst, width, height, threads, blocks, batch, unroll, carveout)              \
    {"tt_turn_list_" #bytes "_" #src "_" #dst "_" #width "x" #height, threads, carveout, true},
#define MOVE_ROW(bytes, channels, from_planes, to_planes, any, cells)                                        \
    {"tt_move_" #bytes "_" #channels "_" #from_planes "_" #to_planes "_" #any, TT_ROWS_THREADS, -1, true},
#define TURN_JOIN_ROW(bytes, src, dst, width, height, threads, blocks, batch, unroll, carveout)              \
    {"tt_turn_join_" #bytes "_" #src "_" #dst "_" #width "x" #height, threads, carveout, false},
#define TURN_SPLIT_ROW(bytes, src, dst, width, height, threads, blocks, batch, unroll, carveout)             \
    {"tt_turn_split_" #bytes "_" #src "_" #dst "_" #width "x" #height, threads, carveout, false},
#define COPY_ROW(bytes, reverse, alike)                                                                      \
    {"tt_copy_" #bytes "_" #reverse "_" #alike, TT_ROWS_THREADS, -1, true},
#define RUN_ROW(bytes) {"tt_reverse_run_" #bytes, TT_ROWS_THREADS, -1, true},
#define UNIT_ROW(bytes)                                                                                      \
    {"tt_turn_units_" #bytes, TT_ROWS_THREADS, -1, true},                                                    \
        {"tt_gather_units_" #bytes, TT_ROWS_THREADS, -1, true},

const TtCudaKernel tt_cuda_kernels[] = {
    TT_TURN_KERNELS(TURN_ROW) TT_TURN_LIST_KERNELS(TURN_LIST_ROW) TT_TURN_JOIN_KERNELS(TURN_JOIN_ROW)
        TT_TURN_SPLIT_KERNELS(TURN_SPLIT_ROW) TT_MOVE_KERNELS(MOVE_ROW) TT_COPY_KERNELS(COPY_ROW)
            TT_RUN_KERNELS(RUN_ROW) TT_UNIT_KERNELS(UNIT_ROW)};
const unsigned tt_cuda_kernel_count = KERNELS;
_Static_assert((int)KERNELS <= (int)TT_CUDA_KERNELS_MAX, "room for every kernel");

/* ---- Small arithmetic -------------------------------------------------------------------------------- */

/* n * magic >> shift is n / divisor for all n below 2^31: the error of magic, below 1 / 2^31 of a unit in the
 * quotient, does not reach the next integer. */
static TtDivider divider(uint32_t divisor) {
    unsigned log2 = 0;
    while ((uint64_t)1 << log2 < divisor)
        log2++;
    uint64_t one = (uint64_t)1 << (31 + log2);
    return (TtDivider){divisor, (uint32_t)((one + divisor - 1) / divisor), 31 + log2};
}

static size_t up(size_t n, size_t by) {
    return (n + by - 1) / by;
}

/* The largest power of two that every argument is a multiple of, at most 32. */
static unsigned alignment(const TtTaskRows *r) {
    uint64_t all = r->base | (uint64_t)r->pitch | (uint64_t)r->image | (uint64_t)r->part;
    if (r->channels.divisor > 1)
        all |= (uint64_t)r->plane;
    all |= TT_SECTOR;
    return (unsigned)(all & -all);
}

/* ---- A move as the kernels see it ------------------------------------------------------------------- */

typedef enum { AS_TURN, AS_ROWS, AS_SPLIT, AS_JOIN } Kind; /* AS_ROWS: copy or reverse */

/* The task in 64-bit sizes, before it is cut. */
typedef struct {
    Kind kind;
    bool reverse;
    TtTaskRows src, dst; /* `parts` images each */
    size_t width, height;
    size_t bytes, channels; /* channels: of AS_SPLIT and AS_JOIN */
    size_t images, parts;
    bool in_list;
    size_t most_shared; /* bytes that the GPU allows a block */
    TtStatus (*launch)(void *, const TtCudaLaunch *);
    void *arg;
} Work;

static TtTaskRows rows_of(const TtSide *side) {
    return (TtTaskRows){.base = (uint64_t)(uintptr_t)side->data,
                        .pitch = side->pitch,
                        .plane = side->plane,
                        .channels = divider(1)};
}

/* The tuned kernel along rows, the one for words first if they are; -1 if there is none. */
static int move_shape(size_t bytes, size_t channels, bool from_planes, bool to_planes, bool any) {
    for (size_t i = 0; i < COUNT(move_shapes); i++)
        if (move_shapes[i].bytes == bytes && move_shapes[i].channels == channels &&
            move_shapes[i].from_planes == from_planes && move_shapes[i].to_planes == to_planes &&
            move_shapes[i].any >= any)
            return (int)i;
    return -1;
}

/* Parts of every image: channels of planes on both sides, or rows. */
static void in_parts(Work *w, size_t n, int64_t src, int64_t dst) {
    w->parts = n;
    w->images *= n;
    w->src.part = src;
    w->dst.part = dst;
}

static Work work_of(const TtMove *m, TtCudaBatch batch) {
    Work w = {
        .kind = m->kernel == TT_TRANSPOSE_ROWS ? AS_TURN : AS_ROWS,
        .reverse = m->kernel == TT_REVERSE_ROWS,
        .src = rows_of(&m->src),
        .dst = rows_of(&m->dst),
        .width = m->width,
        .height = m->height,
        .bytes = m->bytes,
        .channels = 1,
        .images = batch.count,
        .parts = 1,
    };
    w.src.image = batch.src_stride;
    w.dst.image = batch.dst_stride;
    if (m->channels == 1)
        return w;

    bool from_planes = m->src.step == m->bytes, to_planes = m->dst.step == m->bytes;
    if (from_planes && to_planes) {
        in_parts(&w, m->channels, m->src.plane, m->dst.plane);
    } else if (w.kind == AS_TURN &&
               to_planes) { /* a matrix of samples, whose turned rows belong to planes in turn */
        w.height *= m->channels;
        w.dst.channels = divider((uint32_t)m->channels);
    } else if (w.kind == AS_TURN) {
        w.width *= m->channels;
        w.src.channels = divider((uint32_t)m->channels);
    } else if (move_shape(m->bytes, m->channels, from_planes, to_planes, true) >= 0) {
        w.kind = to_planes ? AS_SPLIT : AS_JOIN;
        w.channels = m->channels;
    } else { /* each row is a matrix of pixels by channels, to be turned */
        in_parts(&w, m->height, m->src.pitch, m->dst.pitch);
        w.kind = AS_TURN;
        w.width = to_planes ? m->width : m->channels;
        w.height = to_planes ? m->channels : m->width;
        w.src.pitch = to_planes ? (int64_t)m->src.step : m->src.plane;
        w.dst.pitch = to_planes ? m->dst.plane : (int64_t)m->dst.step;
        if (w.reverse && to_planes) { /* the source's pixels are its rows now: read them bottom-up */
            w.src.base += (uint64_t)((int64_t)(m->width - 1) * w.src.pitch);
            w.src.pitch = -w.src.pitch;
        } else if (w.reverse) {
            w.dst.base += (uint64_t)((int64_t)(m->width - 1) * w.dst.pitch);
            w.dst.pitch = -w.dst.pitch;
        }
        w.reverse = false;
    }
    return w;
}

/* Rows that follow each other without a gap, on both sides, are one long row; those that go upward on both
 * sides go downward as well. */
static void join_rows(Work *w) {
    int64_t row = (int64_t)(w->width * w->bytes), last = (int64_t)w->height - 1;
    if (w->kind == AS_ROWS && w->src.pitch < 0 && w->dst.pitch < 0) {
        w->src.base += (uint64_t)(last * w->src.pitch);
        w->dst.base += (uint64_t)(last * w->dst.pitch);
        w->src.pitch = -w->src.pitch;
        w->dst.pitch = -w->dst.pitch;
    }
    if (w->kind != AS_ROWS || w->dst.pitch != row || w->src.pitch != (w->reverse ? -row : row))
        return;
    if (w->reverse)
        w->src.base += (uint64_t)((int64_t)(w->height - 1) * w->src.pitch);
    w->width *= w->height;
    w->height = 1;
    w->src.pitch = w->dst.pitch = row;
}

/* ---- Choosing the kernel and its tiles --------------------------------------------------------------- */

static void tiles(TtCudaLaunch *l, size_t across, size_t down, size_t tiles_a_block) {
    l->task.tiles_x = divider((uint32_t)across);
    l->task.tiles = divider((uint32_t)(across * down));
    l->blocks = (unsigned)up(across * down * l->task.images, tiles_a_block);
}

static unsigned class_of(unsigned align, unsigned aligned, unsigned bytes) {
    return align >= aligned ? TT_ALIGNED : align >= 4 * tt_cell_access(bytes) ? TT_NATURAL : TT_ANY;
}

static unsigned turn_shared(const TurnShape *s) {
    return TT_TURN_PITCH(s->bytes, s->dst, s->width) * s->height * 4;
}

/* Whether a turn's destination is one run of bytes, row after row, of which this kernel's tile has whole
 * rows: it is then a tile at the edge, by its lead or by room to spare. */
static bool is_run(const Work *w, const TurnShape *s) {
    int64_t row = (int64_t)(w->width * w->bytes);
    return w->width + !TT_TURN_LEAD(s->bytes, s->dst) <= s->width && row >= 4 &&
           w->dst.channels.divisor == 1 && (w->dst.pitch == row || w->dst.pitch == -row);
}

static size_t tiles_across(const Work *w, const TurnShape *s) {
    return is_run(w, s) ? 1 : up(w->width + TT_TURN_LEAD(s->bytes, s->dst), s->width);
}

/* Of the kernels that take pixels of this size and rows so aligned the first, or a later one whose tiles
 * cover an eighth less: a third less if it asks for less alignment. Each table has its most demanding first
 * and, for its sizes, one that takes any. */
static int turn_shape(const Work *w, const TurnShape *shapes, size_t n) {
    unsigned src = class_of(alignment(&w->src), 16, (unsigned)w->bytes);
    unsigned dst = class_of(alignment(&w->dst), TT_SECTOR, (unsigned)w->bytes);
    size_t least = 0;
    int best = -1;
    for (size_t i = 0; i < n; i++) {
        const TurnShape *s = &shapes[i];
        if (s->bytes != w->bytes || s->src < src || s->dst < dst || turn_shared(s) > w->most_shared)
            continue;
        size_t covered = tiles_across(w, s) * s->width * up(w->height, s->height) * s->height;
        bool alike = best >= 0 && s->src == shapes[best].src && s->dst == shapes[best].dst;
        if (best >= 0 && covered > least - least / (alike ? 8 : 3))
            continue;
        best = (int)i;
        least = covered;
    }
    return best;
}

static bool choose_turn_of(const Work *w, TtCudaLaunch *l, const TurnShape *shapes, size_t n,
                           unsigned kernel) {
    int i = turn_shape(w, shapes, n);
    if (i < 0)
        return false;
    const TurnShape *s = &shapes[i];
    l->kernel = kernel + (unsigned)i;
    l->shared_bytes = turn_shared(s);
    if (is_run(w, s))
        l->task.units = divider((uint32_t)(w->width * w->bytes));
    tiles(l, tiles_across(w, s), up(w->height, s->height), 1);
    return true;
}

#define TURN_OF(w, l, shapes, kernel) choose_turn_of(w, l, shapes, COUNT(shapes), kernel)

static bool choose_turn(const Work *w, TtCudaLaunch *l) {
    bool join = w->src.channels.divisor > 1, split = w->dst.channels.divisor > 1;
    if (!w->in_list && !join && !split)
        return TURN_OF(w, l, turn_shapes, TURN);
    return (!w->in_list && join && !split && TURN_OF(w, l, turn_join_shapes, TURN_JOIN)) ||
           (!w->in_list && split && !join && TURN_OF(w, l, turn_split_shapes, TURN_SPLIT)) ||
           TURN_OF(w, l, turn_list_shapes, TURN_LIST);
}

/* Lanes of a warp that stand in one row: as few as cover it, so that short rows share a warp. */
static unsigned lanes_shift(size_t row, size_t of_a_lane) {
    unsigned shift = 0;
    while (shift < 5 && (of_a_lane << shift) < row)
        shift++;
    return shift;
}

/* Whether rows may start beside words. */
static bool beside_words(const TtTaskRows *r, bool planes) {
    return alignment(r) < 4 || (planes && r->plane % 4);
}

static bool choose_move(const Work *w, TtCudaLaunch *l, size_t channels, bool from_planes, bool to_planes) {
    uint64_t ends = w->reverse ? w->width * w->bytes * (from_planes ? 1 : channels) : 0;
    bool any = beside_words(&w->src, from_planes) || beside_words(&w->dst, to_planes) || ends % 4 != 0;
    int i = move_shape(w->bytes, channels, from_planes, to_planes, any);
    if (i < 0)
        return false;
    const MoveShape *s = &move_shapes[i];
    unsigned cell = tt_cell_pixels(s->bytes), words = tt_cell_words(s->bytes) * (to_planes ? 1 : s->channels);
    unsigned step = s->bytes * (to_planes ? 1 : s->channels), rows_a_cell = to_planes ? s->channels : 1;
    unsigned access = words % 4 == 0 ? 4 : words % 2 == 0 ? 2 : 1;
    unsigned shift = lanes_shift(w->width + cell, (size_t)s->cells * cell);
    shift = shift ? shift : 1; /* a lane has one cell more at most, of those in front */
    size_t span = ((size_t)s->cells * cell) << shift;
    unsigned skew = span >= w->width + cell ? SHORT_LEAD : LONG_LEAD;
    unsigned lead = (unsigned)up(up(skew - 1, step), cell) * cell;
    l->kernel = MOVE + (unsigned)i;
    l->task.tile = (TtTaskTile){
        .skew = skew,
        .lead = lead,
        .cells_shift = shift,
        .pitch = tt_padded_pitch((unsigned)(span + lead) / cell * words + 1, access),
    };
    l->shared_bytes = l->task.tile.pitch * (WARP >> shift) * rows_a_cell * 4 * (TT_ROWS_THREADS / WARP);
    tiles(l, up(w->width + lead, span), up(w->height, WARP >> shift), TT_ROWS_THREADS / WARP);
    return true;
}

/* Whether chunks of 16 bytes that are aligned in the destination are so in the source: for every row alike. A
 * row that is read backward is counted from its end. */
static bool alike(const Work *w) {
    uint64_t src = w->src.base + (w->reverse ? w->width * w->bytes : 0), pitch = (uint64_t)w->src.pitch;
    uint64_t beside = w->reverse ? src + w->dst.base : src - w->dst.base;
    uint64_t rows = w->reverse ? pitch + (uint64_t)w->dst.pitch : pitch - (uint64_t)w->dst.pitch;
    uint64_t images =
        w->reverse ? (uint64_t)(w->src.image + w->dst.image) : (uint64_t)(w->src.image - w->dst.image);
    uint64_t parts =
        w->reverse ? (uint64_t)(w->src.part + w->dst.part) : (uint64_t)(w->src.part - w->dst.part);
    return !((beside | rows | images | parts) & 15);
}

/* For rows that are copied; and backward if a chunk is whole pixels, wherever the destination's rows start,
 * and rows are long enough that their ends, in parts of chunks, are few. */
static bool choose_copy(const Work *w, TtCudaLaunch *l) {
    bool pixels = 16 % w->bytes == 0 && alignment(&w->dst) >= w->bytes;
    bool ends = alignment(&w->dst) < 16 && w->width * w->bytes < SHORT_ROW;
    if (w->kind != AS_ROWS || (w->reverse && (!pixels || ends)))
        return false;
    unsigned bytes = w->reverse ? (unsigned)w->bytes : 16;
    size_t row = w->width * w->bytes, i = 0;
    while (copy_shapes[i].bytes != bytes || copy_shapes[i].reverse != w->reverse ||
           copy_shapes[i].alike != alike(w))
        i++;
    unsigned shift = lanes_shift(row + 15, 16 * TT_COPY_CHUNKS);
    l->kernel = COPY + (unsigned)i;
    l->task.width = (uint32_t)row;
    l->task.tile.cells_shift = shift;
    tiles(l, up(row + 15, (size_t)(16 * TT_COPY_CHUNKS) << shift), up(w->height, WARP >> shift),
          TT_ROWS_THREADS / WARP);
    return true;
}

/* For short rows that are read backward and lie as one run on both sides. */
static bool choose_run(const Work *w, TtCudaLaunch *l) {
    size_t row = w->width * w->bytes, i = 0;
    unsigned src = alignment(&w->src), dst = alignment(&w->dst);
    while (i < COUNT(run_bytes) && run_bytes[i] != w->bytes)
        i++;
    if (w->kind != AS_ROWS || !w->reverse || i == COUNT(run_bytes) || row < 4 || row >= SHORT_RUN ||
        (dst >= 16 && 16 % w->bytes == 0) || w->src.pitch != (int64_t)row || w->dst.pitch != (int64_t)row ||
        (src < dst ? src : dst) < TT_RUN_UNIT(run_bytes[i]))
        return false;
    l->kernel = RUN + (unsigned)i;
    l->task.units = divider((uint32_t)row);
    l->task.tile.height = (uint32_t)((TT_RUN_TILE - 15) / row);
    l->shared_bytes =
        TT_RUN_MARGIN + TT_RUN_TILE + (unsigned)row + TT_RUN_MARGIN; /* a row behind the last is read */
    tiles(l, 1, up(w->height, l->task.tile.height), 1);
    return true;
}

/* A pixel of any size is so many units: the widest access that suits every address. */
static void choose_general(const Work *w, TtCudaLaunch *l) {
    unsigned src = alignment(&w->src), dst = alignment(&w->dst), unit = src < dst ? src : dst, log2 = 0;
    if (unit > 16)
        unit = 16;
    while (w->bytes % unit)
        unit /= 2;
    while (1u << log2 < unit)
        log2++;
    unsigned units = (unsigned)(w->bytes / unit);
    bool gather = w->kind == AS_ROWS || w->bytes >= LARGE_PIXEL;
    l->kernel = UNITS + 2 * log2 + gather;
    l->task.units = divider(units);
    if (gather) {
        tiles(l, up(w->width * units, TT_GATHER_UNITS * TT_ROWS_THREADS), w->height, 1);
        return;
    }
    unsigned side = 32;
    while (side > 8 && side * side * w->bytes > GENERAL_SHARED)
        side /= 2;
    l->task.tile.width = l->task.tile.height = side;
    l->task.tile.pitch = (side * units) | 1;
    l->shared_bytes = side * l->task.tile.pitch * unit;
    tiles(l, up(w->width, side), up(w->height, side), 1);
}

static size_t step_of(const Work *w, bool planes) {
    return w->bytes * (planes ? 1 : w->channels);
}

/* Where an image's source lies, from its row 0 on, if it is of one piece; what lies between rows is not ours
 * to read, and both are 0. Steps may be negative. */
static void source_extent(const Work *w, TtTask *t) {
    size_t rows = w->kind == AS_TURN ? w->width : w->height, channels = w->src.channels.divisor;
    int64_t row =
        (int64_t)(w->kind == AS_TURN ? w->height * w->bytes : w->width * step_of(w, w->kind == AS_JOIN));
    if (w->kind == AS_JOIN)
        channels = w->channels;
    else
        rows = up(rows, channels);
    int64_t pitch = llabs(w->src.pitch), plane = llabs(w->src.plane), n = (int64_t)rows,
            c = (int64_t)channels;
    bool plane_by_plane = (n == 1 || pitch == row) && (c == 1 || plane == n * row);
    bool row_by_row = (n == 1 || pitch == c * row) && (c == 1 || plane == row);
    if (!plane_by_plane && !row_by_row)
        return;
    int64_t down = (n - 1) * w->src.pitch, across = (c - 1) * w->src.plane;
    t->src_low = (down < 0 ? down : 0) + (across < 0 ? across : 0);
    t->src_end = t->src_low + n * c * row;
}

static TtStatus launch_piece(const Work *w) {
    TtCudaLaunch l = {0};
    l.task.src = w->src;
    l.task.dst = w->dst;
    l.task.width = (uint32_t)w->width;
    l.task.height = (uint32_t)w->height;
    l.task.reverse = w->reverse;
    l.task.images = (uint32_t)w->images;
    l.task.parts = divider((uint32_t)w->parts);
    source_extent(w, &l.task);
    if (!(w->kind == AS_TURN ? choose_turn(w, &l)
                             : choose_run(w, &l) || choose_copy(w, &l) ||
                                   choose_move(w, &l, w->channels, w->kind == AS_JOIN, w->kind == AS_SPLIT)))
        choose_general(w, &l);
    return w->launch(w->arg, &l);
}

/* ---- Cutting ----------------------------------------------------------------------------------------- */

/* How many elements along a side a launch may have: units are counted where pixels have several, bytes where
 * rows are copied, and a cut never parts the channels of one row. */
static size_t longest(const Work *w) {
    size_t n = PIECE / w->bytes;
    if (n > 4096) /* pieces start as well aligned as the whole */
        n -= n % 4096;
    size_t channels = w->src.channels.divisor * w->dst.channels.divisor;
    return n < channels ? channels : n - n % channels;
}

static void advance(TtTaskRows *rows, size_t n, size_t bytes) {
    rows->base += (uint64_t)((int64_t)(n / rows->channels.divisor) * rows->pitch + (int64_t)bytes);
}

static TtStatus launch_rectangle(const Work *w, size_t x, size_t y, size_t width, size_t height) {
    Work piece = *w;
    piece.width = width;
    piece.height = height;
    if (w->kind == AS_TURN)
        advance(&piece.src, x, y * w->bytes);
    else
        advance(&piece.src, y, (w->reverse ? w->width - x - width : x) * step_of(w, w->kind == AS_JOIN));
    advance(&piece.dst, y, x * step_of(w, w->kind == AS_SPLIT));
    return launch_piece(&piece);
}

static TtStatus launch_images(const Work *w) {
    size_t across = longest(w), down = longest(w);
    TtStatus status = TT_OK;
    /* No tile is smaller than 8 x 8 pixels or than a row, so this many rows make less than PIECE blocks. */
    if (up(smaller(w->width, across), 8) * smaller(w->height, down) > PIECE)
        down = PIECE / up(smaller(w->width, across), 8);
    size_t channels = w->src.channels.divisor * w->dst.channels.divisor;
    down = down < channels ? channels : down - down % channels;
    for (size_t y = 0; !status && y < w->height; y += down)
        for (size_t x = 0; !status && x < w->width; x += across)
            status = launch_rectangle(w, x, y, smaller(across, w->width - x), smaller(down, w->height - y));
    return status;
}

/* As many images at once as the blocks' numbers allow. */
static TtStatus launch_all(const Work *w) {
    size_t blocks = up(smaller(w->width, PIECE), 8) * up(smaller(w->height, PIECE), 1);
    size_t at_once = blocks > PIECE ? 1 : PIECE / blocks;
    if (at_once >= w->images)
        return launch_images(w);
    TtStatus status = TT_OK;
    for (size_t i = 0; !status && i < w->images;) {
        /* A run within one image's parts, or of whole images. */
        Work run = *w;
        size_t whole = i / w->parts, part = i % w->parts;
        if (!part && at_once >= w->parts) {
            run.images = smaller(at_once - at_once % w->parts, w->images - i);
        } else {
            run.images = smaller(at_once, w->parts - part);
            run.parts = run.images;
        }
        run.src.base += (uint64_t)((int64_t)whole * w->src.image + (int64_t)part * w->src.part);
        run.dst.base += (uint64_t)((int64_t)whole * w->dst.image + (int64_t)part * w->dst.part);
        status = launch_images(&run);
        i += run.images;
    }
    return status;
}

TtStatus tt_cuda_plan(const TtMove *move, TtCudaBatch batch, bool in_list, size_t most_shared,
                      TtStatus (*launch)(void *arg, const TtCudaLaunch *launch), void *arg) {
    Work work = work_of(move, batch);
    work.in_list = in_list;
    work.most_shared = most_shared;
    work.launch = launch;
    work.arg = arg;
    join_rows(&work);
    return launch_all(&work);
}
