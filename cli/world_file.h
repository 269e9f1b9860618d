/* SPDX-License-Identifier: MIT
 *
 * World files: six numbers beside a picture that tie its pixels to the map, as scan.tfw does those of
 * scan.tif.
 */
#ifndef WORLD_FILE_H
#define WORLD_FILE_H

#include <glib.h>
#include <tiletranspose/tt.h>

/* The name of the world file beside a picture, to be freed; NULL if there is none. */
char *world_file_beside(const char *picture);

/* What it says of a picture of that size, as it is once that is turned, to be freed. */
char *world_file_turned(const char *path, TtOrientation turn, gsize width, gsize height, GError **error);

/* Its name beside another picture, to be freed. */
char *world_file_name(const char *path, const char *picture, const char *other);

#endif
