/* SPDX-License-Identifier: MIT
 *
 * Deflate by the fastest libraries that this build has: ISA-L, libdeflate, and zlib always.
 *
 * Packing is by blocks that know nothing of each other, so that any number of threads can pack them and
 * the result does not depend on how many did. Laid end to end they are one raw deflate stream.
 */
#ifndef DEFLATE_H
#define DEFLATE_H

#include <glib.h>

/* A way to pack: a library at one of its levels, or short codes for frequent bytes without any search for
 * repeats. zlib has a strategy too, for what PNG's filters leave. */
typedef struct {
    enum { DEFLATE_ISAL, DEFLATE_LIBDEFLATE, DEFLATE_ZLIB, DEFLATE_CODES } library;
    int level;
    enum { DEFLATE_DEFAULT, DEFLATE_FILTERED } strategy;
} DeflateWay;

/* The ways that this build has beside zlib, from the fastest to the one that packs most. */
extern const DeflateWay deflate_ways[];
extern const gsize deflate_n_ways;

/* The way that packs as zlib does at that level, 1 to 9, or better. */
DeflateWay deflate_way_like_zlib(int level);

/* A packer holds the libraries' states, made when first used. For one thread at a time. */
typedef struct Packer Packer;
Packer *packer_new(void);
void packer_free(Packer *packer);

/* Room that any way needs for a block at most. */
gsize packer_bound(gsize size);

/* Packs a block into room for packer_bound(size) bytes and returns how many it took. Unless `last`, the
 * stream goes on behind it at a whole byte. 0: this way cannot pack this block; zlib always can. */
gsize packer_pack(Packer *packer, DeflateWay way, const guint8 *data, gsize size, guint8 *to, gboolean last);

/* Unpacking a zlib stream, piece by piece. */
typedef enum {
    UNPACK_MORE,
    UNPACK_END,
    UNPACK_END_PASSED, /* the same, and bytes behind the end were taken in too */
    UNPACK_DAMAGED
} UnpackStatus;
typedef struct {
    const char *name;
    gpointer (*start)(void);
    /* Unpacks from *in to *out and moves both pointers and both counts. UNPACK_END once the whole stream
     * and its checksum have been seen and are right. */
    UnpackStatus (*unpack)(gpointer state, const guint8 **in, gsize *n_in, guint8 **out, gsize *n_out);
    void (*stop)(gpointer state);
} Unpacker;

/* From the fastest to zlib, which is always there and last. */
extern const Unpacker *const unpackers[];

/* That of zlib, which everybody has. */
extern const Unpacker *const plain_unpacker;

/* Unpacks a zlib stream to `size` bytes, or the first of more. FALSE if they are not all there, or damaged.
 */
gboolean deflate_unpack(const guint8 *packed, gsize n, guint8 *to, gsize size);

/* The checksums of PNG and of zlib, continued from `sum`; they begin with 0 and 1. */
guint32 deflate_crc32(guint32 sum, const guint8 *data, gsize size);
guint32 deflate_adler32(guint32 sum, const guint8 *data, gsize size);

/* Names and versions of the libraries, for --version. */
const char *deflate_description(void);

#endif
