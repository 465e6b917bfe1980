/* A ring of images. */
#include "record/counters/process/images.h"

/* One to decode into and one to evaluate there are in any case. */
static size_t most(const jm__pm *pm)
{
    size_t count = JM_PM_IMAGES_BYTES / (pm->image_size > 0 ? pm->image_size : 1);
    return count < 2 ? 2 : count > JM_PM_IMAGES_MAX ? JM_PM_IMAGES_MAX : count;
}

jm__pm_image *jm__pm_images_free_one(jm__pm_images *images, const jm__pm *pm)
{
    if (images->count == most(pm)) return NULL;
    jm__pm_image *image = &images->items[(images->first + images->count) % most(pm)];
    if (image->data == NULL) image->data = jm__pm_image_make(pm);
    return image->data != NULL ? image : NULL;
}

void jm__pm_images_push(jm__pm_images *images)
{
    images->count++;
}

jm__pm_image *jm__pm_images_oldest(jm__pm_images *images)
{
    return images->count > 0 ? &images->items[images->first] : NULL;
}

void jm__pm_images_pop(jm__pm_images *images, const jm__pm *pm)
{
    images->first = (images->first + 1) % most(pm);
    images->count--;
    images->evaluated = 0;
}
