/* SPDX-License-Identifier: MIT
 *
 * Lines that other programs may have written: tasks, and the report of an earlier run as a journal.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../../cli/journal.h"
#include "../../cli/tasks.h"
#include "folder.h"

static void read_tasks(char *path) {
    static const atomic_int cancel;
    const char *argv[] = {"imgtranspose", "--tasks", path};
    Options options;
    GError *error = NULL;
    REQUIRE(options_parse(&options, 3, (char **)argv, &error), "%s", error->message);
    Tasks *tasks = tasks_open(&options, &error);
    REQUIRE(tasks, "%s", error->message);
    for (Task *task; (task = tasks_next(tasks, &cancel)); tasks_done(tasks, task))
        REQUIRE(task->problem || (task->input && task->output), "a task without names");
    tasks_close(tasks);
    options_clear(&options);
}

static void read_journal(char *path) {
    GError *error = NULL;
    Journal *journal = journal_read(path, &error);
    REQUIRE(!journal == !!error, "neither a journal nor an error");
    g_clear_error(&error);
    if (!journal)
        return;
    int input = open(path, O_RDONLY);
    for (int in_place = 0; in_place < 2; in_place++) {
        gboolean done;
        Task task = {.input = (char *)"a.png", .output = (char *)"a.png"};
        journal_look_up(journal, &task, TT_ROT90, in_place, input, &done, NULL);
        task.input = path;
        journal_look_up(journal, &task, TT_ROT90, in_place, input, &done, NULL);
    }
    close(input);
    journal_free(journal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *path = folder_file("lines");
    folder_write(path, data, size);
    read_tasks(path);
    read_journal(path);
    g_free(path);
    return 0;
}
