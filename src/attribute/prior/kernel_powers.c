/* Powers of kernels that somebody knows: from the kernel alone in a loop, from another run, from a paper. */
#include "attribute/prior/source.h"
#include "base/map.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The work of one name: its classes, linked through `next`. */
typedef struct named {
    const jm__belief_scene *scene;
    jm__map first;  /* name -> class + 1 */
    uint32_t *next; /* [classes]: the next class of the same name, + 1; 0: none */
} named;

static jm_status index_names(named *n, const jm__belief_scene *scene, jm_error *err)
{
    *n = (named){.scene = scene, .first = JM_MAP_OF_TEXTS};
    n->next = calloc(scene->classes->count + 1, sizeof *n->next);
    if (n->next == NULL) return jm__no_memory(err, "jm__believe_kernel_powers");
    for (size_t c = 0; c < scene->classes->count; c++) {
        if (scene->columns->of_class[c] == JM_NO_COLUMN || scene->columns->merged[c]) continue;
        const char *name = scene->classes->items[c].name;
        const jm__map_value *known = jm__map_find(&n->first, &name);
        if (known != NULL) n->next[c] = (uint32_t)known->id;
        if (!jm__map_put(&n->first, &name, (jm__map_value){.id = (int64_t)c + 1}))
            return jm__no_memory(err, "jm__believe_kernel_powers");
    }
    return JM_OK;
}

/* Seconds of all columns of a class, into `row` too. */
static double add_class(const jm__belief_scene *scene, uint32_t column, double *row)
{
    double sum_s = 0;
    for (size_t k = 0; k < scene->columns->class_columns; k++) {
        if (scene->columns->split_from[k] != column) continue;
        row[k] += scene->seconds[k];
        sum_s += scene->seconds[k];
    }
    return sum_s;
}

/* The mean over the time that each shape of the kernel took; false if none ran in a column of its own. */
static bool mean_of(const named *n, const char *name, double *row)
{
    const jm__map_value *first = jm__map_find(&n->first, &name);
    double all_s = 0;
    for (uint32_t c = first != NULL ? (uint32_t)first->id : 0; c != 0; c = n->next[c - 1])
        all_s += add_class(n->scene, n->scene->columns->of_class[c - 1], row);
    for (size_t k = 0; all_s > 0 && k < n->scene->columns->count; k++)
        row[k] /= all_s;
    return all_s > 0;
}

static jm_status add_line(jm__belief *belief, jm__belief_lines *lines, jm__csv *csv, const size_t column[3],
                          const named *n, double *row, jm_error *err)
{
    double power_w, u_w;
    JM_TRY(jm__csv_number(csv, column[1], &power_w, err));
    JM_TRY(jm__csv_number(csv, column[2], &u_w, err));
    if (!(power_w >= 0) || !isfinite(power_w)) return jm__csv_bad(csv, column[1], err, "is no power");
    if (!jm__belief_is_sane(power_w, u_w))
        return jm__csv_bad(csv, column[2], err, "is no standard uncertainty");
    lines->all++;
    memset(row, 0, belief->columns * sizeof *row);
    if (!mean_of(n, jm__csv_name(csv, column[0]), row)) return JM_OK;
    lines->used++;
    return jm__belief_add(belief, row, power_w, u_w, err);
}

jm_status jm__believe_kernel_powers(jm__belief *belief, jm__belief_lines *lines, jm__csv *csv,
                                    const jm__belief_scene *scene, jm_error *err)
{
    static const char *const names[] = {"kernel", "power_w", "u_w"};
    size_t column[3];
    named n;
    bool more;
    double *row = calloc(belief->columns + 1, sizeof *row);
    jm_status status = index_names(&n, scene, err);
    if (status == JM_OK && row == NULL) status = jm__no_memory(err, "jm__believe_kernel_powers");
    for (size_t i = 0; status == JM_OK && i < 3; i++)
        status = jm__csv_column(csv, names[i], &column[i], err);
    while (status == JM_OK && (status = jm__csv_next(csv, &more, err)) == JM_OK && more)
        status = add_line(belief, lines, csv, column, &n, row, err);
    jm__map_free(&n.first);
    free(n.next);
    free(row);
    return status;
}
