/* SPDX-License-Identifier: MIT
 *
 * The control groups that this process is in: /proc/self/cgroup has a line for each hierarchy,
 *
 *     4:memory:/system.slice/job     version 1: number, controllers, the group below the hierarchy's mount
 *     0::/user.slice/job             version 2
 *
 * In a container the group may be named as the host sees it, and not be there: its mount then starts further
 * down, and the root of that is still found.
 */
#define _GNU_SOURCE
#include "cgroup.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char mounts[] = TT_SYSTEM_ROOT "/sys/fs/cgroup";

FILE *tt_cgroup_open(const char *folder, const char *name) {
    char path[4608];
    int length = snprintf(path, sizeof(path), "%s/%s", folder, name);
    return length > 0 && (size_t)length < sizeof(path) ? fopen(path, "re") : NULL;
}

static bool lists(const char *controllers, const char *controller) {
    size_t length = strlen(controller);
    for (const char *c = controllers; (c = strstr(c, controller)); c += length)
        if ((c == controllers || c[-1] == ',') && (!c[length] || c[length] == ','))
            return true;
    return false;
}

/* The group and all above it, from the mount of its hierarchy down. */
static void visit_chain(const char *mount, const char *group, int version,
                        void (*visit)(const char *folder, int version, void *data), void *data) {
    char folder[4352];
    int length = snprintf(folder, sizeof(folder), "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof(folder))
        return;
    for (char *end = folder + length; end > folder + strlen(mount); end = strrchr(folder, '/')) {
        *end = 0;
        if (end[-1] != '/')
            visit(folder, version, data);
    }
    folder[strlen(mount)] = 0;
    visit(folder, version, data);
}

void tt_cgroup_each(const char *controller, void (*visit)(const char *folder, int version, void *data),
                    void *data) {
    FILE *file = fopen(TT_SYSTEM_ROOT "/proc/self/cgroup", "re");
    char *line = NULL, mount[128];
    size_t size = 0;
    while (file && getline(&line, &size, file) > 0) {
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        group[strcspn(group, "\n")] = 0;
        if (!strncmp(line, "0:", 2) && !controllers[1]) {
            visit_chain(mounts, group, 2, visit, data);
            snprintf(mount, sizeof(mount), "%s/unified", mounts); /* beside hierarchies of version 1 */
            visit_chain(mount, group, 2, visit, data);
        } else if (lists(controllers + 1, controller)) {
            snprintf(mount, sizeof(mount), "%s/%s", mounts, controller);
            visit_chain(mount, group, 1, visit, data);
        }
    }
    free(line);
    if (file)
        fclose(file);
}
