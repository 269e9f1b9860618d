/* SPDX-License-Identifier: MIT
 *
 * Deflate through ISA-L, libdeflate and zlib.
 */
#include "deflate.h"

#include <string.h>
#include <zlib.h>

#include "deflate_codes.h"

#ifdef HAVE_ISAL
#include <isa-l.h>
#endif
#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>

#include "deflate_last_block.h"
#endif

/* The most that is handed to a library at once: each counts bytes in 32 bits. */
static const gsize most_at_once = 1 << 30;

enum { LIBDEFLATE_LEVELS = 13 };

struct Packer {
    z_stream zlib;
    DeflateWay zlib_way;
    gboolean zlib_started;
#ifdef HAVE_ISAL
    struct isal_zstream isal;
    guint8 *isal_buffer;
#endif
#ifdef HAVE_LIBDEFLATE
    struct libdeflate_compressor *libdeflate[LIBDEFLATE_LEVELS];
#endif
};

const DeflateWay deflate_ways[] = {
#ifdef HAVE_ISAL
    {DEFLATE_ISAL, 3, DEFLATE_DEFAULT},       {DEFLATE_CODES},
#else
    {DEFLATE_ZLIB, 1, DEFLATE_FILTERED},
    {DEFLATE_CODES},
#endif
#ifdef HAVE_LIBDEFLATE
    {DEFLATE_LIBDEFLATE, 4, DEFLATE_DEFAULT}, {DEFLATE_LIBDEFLATE, 6, DEFLATE_DEFAULT},
    {DEFLATE_LIBDEFLATE, 7, DEFLATE_DEFAULT},
#else
    {DEFLATE_ZLIB, 4, DEFLATE_DEFAULT},
#endif
};
const gsize deflate_n_ways = G_N_ELEMENTS(deflate_ways);

DeflateWay deflate_way_like_zlib(int level) {
#ifdef HAVE_LIBDEFLATE
    return (DeflateWay){DEFLATE_LIBDEFLATE, level, DEFLATE_DEFAULT};
#else
    return (DeflateWay){DEFLATE_ZLIB, level, DEFLATE_DEFAULT};
#endif
}

Packer *packer_new(void) {
    return g_new0(Packer, 1);
}

void packer_free(Packer *packer) {
    if (packer->zlib_started)
        deflateEnd(&packer->zlib);
#ifdef HAVE_ISAL
    g_free(packer->isal_buffer);
#endif
#ifdef HAVE_LIBDEFLATE
    for (int i = 0; i < LIBDEFLATE_LEVELS; i++)
        if (packer->libdeflate[i])
            libdeflate_free_compressor(packer->libdeflate[i]);
#endif
    g_free(packer);
}

gsize packer_bound(gsize size) {
    return size + size / 512 + 1024; /* more than any library's own bound, and room for the ends */
}

/* ---- zlib ------------------------------------------------------------------------------------------- */

static gboolean start_zlib(Packer *p, DeflateWay way) {
    static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_FILTERED};
    if (p->zlib_started && p->zlib_way.level == way.level && p->zlib_way.strategy == way.strategy)
        return deflateReset(&p->zlib) == Z_OK;
    if (p->zlib_started)
        deflateEnd(&p->zlib);
    memset(&p->zlib, 0, sizeof(p->zlib));
    p->zlib_way = way;
    p->zlib_started =
        deflateInit2(&p->zlib, way.level, Z_DEFLATED, -MAX_WBITS, 8, strategies[way.strategy]) == Z_OK;
    return p->zlib_started;
}

static gsize pack_zlib(Packer *p, DeflateWay way, const guint8 *data, gsize size, guint8 *to, gsize room,
                       gboolean last) {
    if (!start_zlib(p, way))
        return 0;
    guint8 *out = to;
    for (;;) {
        gsize in = MIN(size, most_at_once), space = MIN(room - (gsize)(out - to), most_at_once);
        p->zlib.next_in = (Bytef *)data;
        p->zlib.avail_in = (uInt)in;
        p->zlib.next_out = out;
        p->zlib.avail_out = (uInt)space;
        int status = deflate(&p->zlib, in < size ? Z_NO_FLUSH : last ? Z_FINISH : Z_SYNC_FLUSH);
        gsize taken = in - p->zlib.avail_in, made = space - p->zlib.avail_out;
        data += taken;
        size -= taken;
        out += made;
        if (status == Z_STREAM_END || (!last && !size && p->zlib.avail_out))
            return (gsize)(out - to);
        if (status != Z_OK || (!taken && !made))
            return 0;
    }
}

/* ---- ISA-L ------------------------------------------------------------------------------------------ */

#ifdef HAVE_ISAL
static gsize pack_isal(Packer *p, DeflateWay way, const guint8 *data, gsize size, guint8 *to, gsize room,
                       gboolean last) {
    if (size > most_at_once)
        return 0;
    if (!p->isal_buffer)
        p->isal_buffer = g_malloc(ISAL_DEF_LVL3_LARGE);
    isal_deflate_init(&p->isal);
    p->isal.level = (guint32)way.level;
    p->isal.level_buf = p->isal_buffer;
    p->isal.level_buf_size = ISAL_DEF_LVL3_LARGE;
    p->isal.flush = last ? NO_FLUSH : SYNC_FLUSH;
    p->isal.end_of_stream = last;
    p->isal.next_in = (guint8 *)data;
    p->isal.avail_in = (guint32)size;
    p->isal.next_out = to;
    p->isal.avail_out = (guint32)MIN(room, G_MAXUINT32);
    if (isal_deflate(&p->isal) != COMP_OK || p->isal.avail_in || !p->isal.avail_out)
        return 0;
    return p->isal.total_out;
}

static gpointer start_isal(void) {
    struct inflate_state *state = g_new(struct inflate_state, 1);
    isal_inflate_init(state);
    state->crc_flag = ISAL_ZLIB; /* header and checksum too */
    return state;
}

static UnpackStatus unpack_isal(gpointer data, const guint8 **in, gsize *n_in, guint8 **out, gsize *n_out) {
    struct inflate_state *state = data;
    state->next_in = (guint8 *)*in;
    state->avail_in = (guint32)MIN(*n_in, most_at_once);
    state->next_out = *out;
    state->avail_out = (guint32)MIN(*n_out, most_at_once);
    int status = isal_inflate(state);
    *n_in -= (gsize)(state->next_in - *in);
    *n_out -= (gsize)(state->next_out - *out);
    *in = state->next_in;
    *out = state->next_out;
    if (status != ISAL_DECOMP_OK && status != ISAL_END_INPUT)
        return UNPACK_DAMAGED;
    if (state->block_state != ISAL_BLOCK_FINISH)
        return UNPACK_MORE;
    return state->read_in_length >= 8 ? UNPACK_END_PASSED : UNPACK_END; /* bits read ahead */
}

static const Unpacker isal_unpacker = {"isal", start_isal, unpack_isal, g_free};
#endif

/* ---- libdeflate ------------------------------------------------------------------------------------- */

#ifdef HAVE_LIBDEFLATE
/* libdeflate always closes its stream. To let it go on, the mark "last" of its last block is cleared and an
 * empty stored block put behind it, which ends at a whole byte. */
static gsize reopen(guint8 *stream, gsize size, gsize room) {
    /* Three zero bits, the rest of their byte, and a length of 0 with its complement. */
    static const guint8 empty[] = {0, 0, 0xff, 0xff};
    gsize header, bits;
    if (room - size < DEFLATE_BEYOND)
        return 0;
    memset(stream + size, 0, DEFLATE_BEYOND);
    if (!deflate_last_block(stream, size, &header, &bits))
        return 0;
    stream[header / 8] &= (guint8) ~(1 << header % 8);
    gsize end = (bits + 3 + 7) / 8;
    memcpy(stream + end, empty, sizeof(empty));
    return end + sizeof(empty);
}

static gsize pack_libdeflate(Packer *p, DeflateWay way, const guint8 *data, gsize size, guint8 *to,
                             gsize room, gboolean last) {
    struct libdeflate_compressor **compressor = &p->libdeflate[way.level];
    if (!*compressor)
        *compressor = libdeflate_alloc_compressor(way.level);
    if (!*compressor || size > most_at_once)
        return 0;
    gsize packed = libdeflate_deflate_compress(*compressor, data, size, to, room);
    return packed && !last ? reopen(to, packed, room) : packed;
}
#endif

gsize packer_pack(Packer *packer, DeflateWay way, const guint8 *data, gsize size, guint8 *to, gboolean last) {
    gsize room = packer_bound(size);
    switch (way.library) {
    case DEFLATE_CODES:
        return deflate_codes(data, size, to, room, last);
#ifdef HAVE_ISAL
    case DEFLATE_ISAL:
        return pack_isal(packer, way, data, size, to, room, last);
#endif
#ifdef HAVE_LIBDEFLATE
    case DEFLATE_LIBDEFLATE:
        return pack_libdeflate(packer, way, data, size, to, room, last);
#endif
    default:
        return pack_zlib(packer, way, data, size, to, room, last);
    }
}

/* ---- Unpacking by zlib ------------------------------------------------------------------------------ */

static gpointer start_inflate(void) {
    z_stream *z = g_new0(z_stream, 1);
    if (inflateInit(z) == Z_OK)
        return z;
    g_free(z);
    return NULL;
}

static UnpackStatus unpack_zlib(gpointer data, const guint8 **in, gsize *n_in, guint8 **out, gsize *n_out) {
    z_stream *z = data;
    z->next_in = (Bytef *)*in;
    z->avail_in = (uInt)MIN(*n_in, most_at_once);
    z->next_out = *out;
    z->avail_out = (uInt)MIN(*n_out, most_at_once);
    int status = inflate(z, Z_NO_FLUSH);
    *n_in -= (gsize)(z->next_in - *in);
    *n_out -= (gsize)(z->next_out - *out);
    *in = z->next_in;
    *out = z->next_out;
    if (status == Z_STREAM_END)
        return UNPACK_END;
    return status == Z_OK || status == Z_BUF_ERROR ? UNPACK_MORE : UNPACK_DAMAGED;
}

static void stop_inflate(gpointer data) {
    inflateEnd(data);
    g_free(data);
}

static const Unpacker zlib_unpacker = {"zlib", start_inflate, unpack_zlib, stop_inflate};

const Unpacker *const plain_unpacker = &zlib_unpacker;
const Unpacker *const unpackers[] = {
#ifdef HAVE_ISAL
    &isal_unpacker,
#endif
    &zlib_unpacker,
    NULL,
};

#ifdef HAVE_LIBDEFLATE
static enum libdeflate_result unpack_libdeflate(const guint8 *packed, gsize n, guint8 *to, gsize size) {
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (!d)
        return LIBDEFLATE_BAD_DATA;
    enum libdeflate_result result = libdeflate_zlib_decompress(d, packed, n, to, size, NULL);
    libdeflate_free_decompressor(d);
    return result;
}
#endif

static gboolean unpack_pieces(const guint8 *packed, gsize n, guint8 *to, gsize size) {
    const Unpacker *unpacker = unpackers[0];
    gpointer state = unpacker->start();
    UnpackStatus status = UNPACK_MORE;
    gsize left;
    if (!state)
        return FALSE;
    do {
        left = n + size;
        status = unpacker->unpack(state, &packed, &n, &to, &size);
    } while (status == UNPACK_MORE && n + size < left);
    unpacker->stop(state);
    return !size && status != UNPACK_DAMAGED;
}

gboolean deflate_unpack(const guint8 *packed, gsize n, guint8 *to, gsize size) {
#ifdef HAVE_LIBDEFLATE
    enum libdeflate_result result = unpack_libdeflate(packed, n, to, size);
    if (result != LIBDEFLATE_INSUFFICIENT_SPACE) /* of which it leaves the last bytes unwritten */
        return result == LIBDEFLATE_SUCCESS;
#endif
    return unpack_pieces(packed, n, to, size);
}

/* ---- Checksums -------------------------------------------------------------------------------------- */

guint32 deflate_crc32(guint32 sum, const guint8 *data, gsize size) {
#ifdef HAVE_ISAL
    return crc32_gzip_refl(sum, data, size);
#elif defined(HAVE_LIBDEFLATE)
    return libdeflate_crc32(sum, data, size);
#else
    return (guint32)crc32_z(sum, data, size);
#endif
}

guint32 deflate_adler32(guint32 sum, const guint8 *data, gsize size) {
#ifdef HAVE_ISAL
    return isal_adler32(sum, data, size);
#elif defined(HAVE_LIBDEFLATE)
    return libdeflate_adler32(sum, data, size);
#else
    return (guint32)adler32_z(sum, data, size);
#endif
}

const char *deflate_description(void) {
    static char text[96];
    g_snprintf(text, sizeof(text), "%s%szlib %s",
#ifdef HAVE_ISAL
               "ISA-L " G_STRINGIFY(ISAL_MAJOR_VERSION) "." G_STRINGIFY(ISAL_MINOR_VERSION) ", ",
#else
               "",
#endif
#ifdef HAVE_LIBDEFLATE
               "libdeflate " LIBDEFLATE_VERSION_STRING ", ",
#else
               "",
#endif
               zlibVersion());
    return text;
}
