/* SPDX-License-Identifier: MIT
 *
 * Pictures in memory for the tests: laid out at random, placed to the byte, and turned by a loop that can
 * be checked by reading it.
 */
#ifndef PICTURES_H
#define PICTURES_H

#include "tiletranspose/tt.h"

/* Gives a picture of the size, format and layout that are set already random pitches: rows and planes
 * with odd gaps between them or none, running either way, planes one after the other or row by row. */
void picture_lay_out(TtImage *picture, uint64_t *random);

/* The bytes from its lowest to its highest. */
size_t picture_bytes(const TtImage *picture);

/* Sets data so that the lowest byte of the picture is at `lowest`. */
void picture_place(TtImage *picture, void *lowest);
void *picture_lowest(const TtImage *picture);

size_t picture_row_bytes(const TtImage *picture);

/* One sample of fewer than 8 bits. */
unsigned picture_get_packed(const TtImage *picture, size_t x, size_t y);
void picture_set_packed(const TtImage *picture, size_t x, size_t y, unsigned value);

/* Where a sample of whole bytes is. */
uint8_t *picture_sample(const TtImage *picture, size_t x, size_t y, uint32_t channel);

/* The naive loop: sample by sample, dst being as large as it must be. */
void picture_turn(const TtImage *src, const TtImage *dst, int o);

/* The first sample in which two pictures of one size and format differ, in either layout: 0 if none. */
int picture_differs(const TtImage *a, const TtImage *b, size_t *x, size_t *y);

#endif
