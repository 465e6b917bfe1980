/* The labels of work, and the truth as CSV. */
#include "truth.h"

#include "noise.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t label_key(const char *name, const char *type, const char *kind)
{
    uint64_t key = sim_key(sim_text_key(name, strlen(name)), sim_text_key(type, strlen(type)));
    return sim_key(key, sim_text_key(kind, strlen(kind)));
}

static bool grow_slots(sim_labels *labels)
{
    uint32_t count = labels->slot_count == 0 ? 256 : labels->slot_count * 2;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL) return false;
    for (uint32_t i = 0; i < labels->count; i++) {
        const sim_label *label = &labels->items[i];
        uint64_t at = label_key(label->name, label->type, label->kind);
        while (slots[at & (count - 1)] != 0)
            at++;
        slots[at & (count - 1)] = i + 1;
    }
    free(labels->slots);
    labels->slots = slots;
    labels->slot_count = count;
    return true;
}

uint32_t sim_label_intern(sim_labels *labels, const char *name, const char *type, const char *kind)
{
    if (labels->count * 2 >= labels->slot_count && !grow_slots(labels)) return UINT32_MAX;
    uint64_t at = label_key(name, type, kind);
    for (;; at++) {
        uint32_t number = labels->slots[at & (labels->slot_count - 1)];
        if (number == 0) break;
        const sim_label *label = &labels->items[number - 1];
        if (strcmp(label->name, name) == 0 && strcmp(label->type, type) == 0 &&
            strcmp(label->kind, kind) == 0)
            return number - 1;
    }
    if (labels->count == labels->size) {
        uint32_t size = labels->size == 0 ? 64 : labels->size * 2;
        sim_label *grown = realloc(labels->items, size * sizeof *grown);
        if (grown == NULL) return UINT32_MAX;
        labels->items = grown;
        labels->size = size;
    }
    sim_label label = {strdup(name), strdup(type), kind};
    if (label.name == NULL || label.type == NULL) {
        free(label.name);
        free(label.type);
        return UINT32_MAX;
    }
    labels->items[labels->count] = label;
    labels->slots[at & (labels->slot_count - 1)] = labels->count + 1;
    return labels->count++;
}

void sim_labels_free(sim_labels *labels)
{
    for (uint32_t i = 0; i < labels->count; i++) {
        free(labels->items[i].name);
        free(labels->items[i].type);
    }
    free(labels->items);
    free(labels->slots);
    memset(labels, 0, sizeof *labels);
}

static void write_text(FILE *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void write_board(FILE *out, const sim_board *board, const sim_labels *labels)
{
    const sim_power *power = &board->power;
    for (uint32_t i = 0; i < labels->count && i < power->account_count; i++) {
        const sim_account *one = &power->accounts[i];
        if (one->calls == 0 && one->busy_s <= 0) continue;
        fprintf(out, "%d,", board->index);
        write_text(out, labels->items[i].name);
        fputc(',', out);
        write_text(out, labels->items[i].type);
        fprintf(out, ",%s,%llu,%.9f,%.9f\n", labels->items[i].kind, (unsigned long long)one->calls,
                one->busy_s, one->energy_j);
    }
    fprintf(out, "%d,(idle),,,%llu,%.9f,%.9f\n", board->index, (unsigned long long)power->idle.calls,
            power->idle.busy_s, power->idle.energy_j);
    fprintf(out, "%d,(total),,,,%.9f,%.9f\n", board->index, power->total.busy_s, power->total.energy_j);
}

int sim_truth_write(const char *path, const sim_board *boards, int board_count, const sim_labels *labels,
                    uint64_t overtaken)
{
    char temporary[4096];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.%ld.new", path, (long)getpid()) >= sizeof temporary)
        return ENAMETOOLONG;
    unlink(temporary); /* of a process that was killed, or a link of somebody's */
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (out == NULL) {
        int cause = errno;
        if (fd >= 0) close(fd);
        return cause;
    }
    fputs("board,name,type,kind,calls,busy_s,energy_j\n", out);
    for (int i = 0; i < board_count; i++)
        write_board(out, &boards[i], labels);
    if (overtaken > 0) fprintf(out, ",(overtaken),,,%llu,,\n", (unsigned long long)overtaken);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed || rename(temporary, path) != 0) {
        int cause = errno;
        unlink(temporary);
        return cause == 0 ? EIO : cause;
    }
    return 0;
}
