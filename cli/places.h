/* SPDX-License-Identifier: MIT
 *
 * Where files are or would be, whatever their names are spelled like.
 */
#ifndef PLACES_H
#define PLACES_H

#include <sys/stat.h>

#include <glib.h>

/* Remembers the folders that it has looked at, which are few where files are many. */
typedef struct Folders Folders;

Folders *folders_new(void);
void folders_free(Folders *folders);

/* Texts that are equal for names of one place: of a file in a folder that may have several names, or that is
 * still to be created. Links of the last part are not followed: they are a place. Free it with g_free(). */
char *place_of_name(Folders *folders, const char *path);

/* As it would be if nobody told capitals from small letters. */
char *place_of_folded_name(Folders *folders, const char *path);

/* The first thing met on the way to those names that is no folder and stands where one must be, or NULL. */
const char *folders_obstacle(const Folders *folders);

/* The same for a file itself, by whatever name or link. */
char *place_of_file(const struct stat *info);

/* Whether names that differ in nothing but capitals are one in the folder where path is or would be. This
 * is found out by a trial with a temporary file; FALSE if none can be made. */
gboolean is_case_blind(const char *path);

#endif
