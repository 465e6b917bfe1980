/* Made-up programs: classes invented or read, played call by call. */
#include "program.h"

#include "noise.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From 20 us to `range` times that, in even powers. */
static void invent(sim_class *one, uint64_t key, const sim_profile *profile, double range)
{
    one->duration_us = 20 * pow(range, sim_uniform(sim_key(key, 1)));
    one->power_w = profile->unknown_min_w +
                   sim_uniform(sim_key(key, 2)) * (profile->unknown_max_w - profile->unknown_min_w);
    one->calls = 1;
}

void sim_program_invent(sim_program *program, const sim_profile *profile, int count)
{
    program->class_count = count;
    for (int i = 0; i < count; i++) {
        sim_class *one = &program->classes[i];
        snprintf(one->name, sizeof one->name, "kernel_%02d", i);
        invent(one, sim_key(program->seed, 1000 + (uint64_t)i), profile, 250);
    }
}

void sim_program_invent_suite(sim_program *program, const sim_profile *profile, int count)
{
    program->bursts = true;
    program->class_count = count;
    for (int i = 0; i < count; i++) {
        sim_class *one = &program->classes[i];
        snprintf(one->name, sizeof one->name, "micro_%02d%s", i, i % 8 == 7 ? "_zeros" : "");
        invent(one, sim_key(program->seed, 100000 + (uint64_t)i), profile, 25);
    }
}

/* NULL or what is wrong. */
static const char *read_class(sim_program *program, char *line)
{
    if (program->class_count == SIM_CLASSES_MAX) return "too many classes";
    sim_class *one = &program->classes[program->class_count];
    const char *name = strsep(&line, ",");
    char *end = line;
    if (name[0] == '\0' || strlen(name) >= sizeof one->name || line == NULL)
        return "want name,duration_us,power_w";
    memcpy(one->name, name, strlen(name) + 1);
    one->duration_us = strtod(line, &end);
    if (*end != ',') return "the duration must be a number";
    one->power_w = strtod(end + 1, &end);
    one->calls = 1;
    if (*end == ',') one->calls = (int)strtol(end + 1, &end, 10);
    if (*end != '\0') return "power and calls must be numbers";
    if (!(one->duration_us >= 0.1 && one->duration_us <= 1e7)) return "duration is not in 0.1 us to 10 s";
    if (!(one->power_w >= 0 && one->power_w <= 1e5) || one->calls < 1)
        return "power or calls are out of range";
    program->class_count++;
    return NULL;
}

bool sim_program_read(sim_program *program, const char *path, char *why, size_t why_size)
{
    FILE *in = fopen(path, "re");
    if (in == NULL) {
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
        return false;
    }
    char line[1024];
    const char *wrong = NULL;
    int number = 0;
    while (wrong == NULL && fgets(line, sizeof line, in) != NULL) {
        number++;
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] == '\0' || line[0] == '#' || strncmp(line, "name,", 5) == 0) continue;
        wrong = read_class(program, line);
    }
    fclose(in);
    if (wrong == NULL && program->class_count == 0) wrong = "no class";
    if (wrong != NULL) snprintf(why, why_size, "%s, line %d: %s", path, number, wrong);
    return wrong == NULL;
}

static double draw(sim_player *player)
{
    return sim_uniform(sim_key(sim_key(player->program->seed, 77), player->draws++));
}

static void new_round(sim_player *player)
{
    int count = player->program->class_count;
    for (int i = 0; i < count; i++)
        player->order[i] = i;
    for (int i = count - 1; i > 0 && player->program->shuffled; i--) {
        int other = (int)(draw(player) * (i + 1));
        int kept = player->order[i];
        player->order[i] = player->order[other];
        player->order[other] = kept;
    }
    player->place = 0;
    player->call = 0;
    player->round++;
}

static void begin_repeat(sim_player *player, double length_ms)
{
    player->repeating = (int)(draw(player) * player->program->class_count);
    player->repeat_left_ns = (int64_t)(length_ms * 1e6);
}

static void begin_burst(sim_player *player)
{
    double length_ms = 1 + 19 * draw(player);
    begin_repeat(player, length_ms);
}

void sim_player_start(sim_player *player, const sim_program *program)
{
    memset(player, 0, sizeof *player);
    player->program = program;
    player->repeating = -1;
    new_round(player);
    if (program->bursts) begin_burst(player);
}

static int64_t duration_ns(sim_player *player, const sim_class *of)
{
    double normal = sqrt(-2 * log(draw(player))) * cos(6.283185307179586 * draw(player));
    double factor = fmax(1 + player->program->spread * normal, 0.2);
    return (int64_t)fmax(of->duration_us * factor * 1e3, 100);
}

static int64_t gap_ns(sim_player *player)
{
    return (int64_t)(-player->program->gap_us * log(draw(player)) * 1e3);
}

/* One class, at random, again: what separates classes (repeats); or in bursts, nothing but that. */
static sim_call_step next_repeat(sim_player *player)
{
    sim_call_step step = {.class_number = player->repeating};
    step.duration_ns = duration_ns(player, &player->program->classes[step.class_number]);
    step.gap_ns = gap_ns(player);
    player->repeat_left_ns -= step.duration_ns + step.gap_ns;
    if (player->repeat_left_ns > 0) return step;
    step.burst_ends = true;
    if (player->program->bursts) {
        step.gap_ns += (int64_t)(12e6 * draw(player));
        begin_burst(player);
    } else {
        player->repeating = -1;
        new_round(player);
    }
    return step;
}

sim_call_step sim_player_next(sim_player *player)
{
    const sim_program *program = player->program;
    if (player->repeating >= 0) return next_repeat(player);
    sim_call_step step = {.class_number = player->order[player->place]};
    const sim_class *one = &program->classes[step.class_number];
    step.duration_ns = duration_ns(player, one);
    step.gap_ns = gap_ns(player);
    if (++player->call < one->calls) return step;
    player->call = 0;
    step.burst_ends = true;
    if (++player->place < program->class_count) return step;
    step.gap_ns += (int64_t)(program->round_us * 1e3);
    if (program->repeat_ms > 0) {
        begin_repeat(player, program->repeat_ms);
    } else {
        new_round(player);
    }
    return step;
}
